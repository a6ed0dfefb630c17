"""The edit that ends a loop after a number of steps instead of a time."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from samerun.editing.data_flow import find_behind
from samerun.editing.edit import Change, Edit, NoEdit
from samerun.editing.edit_builders import replace_node
from samerun.editing.index import list_pairs
from samerun.editing.source_file import File
from samerun.editing.user_program import Code
from samerun.runs.difference import Row
from samerun.sources.edits import run_dependent_calls


def end_by_count(code: Code, site: str | None, reads: Sequence[Row], steps: object) -> list[Edit]:
    """As many rounds as there were steps, for the loop that ends by the clock, at `site` or read last."""
    for at in dict.fromkeys([site, *(row.call_site for row in reversed(reads))]):
        edits = count_rounds(code, at, steps) if isinstance(steps, int) else []
        if edits:
            return edits
    return []


def count_rounds(code: Code, site: str | None, steps: int) -> list[Edit]:
    """`while time.time() < end:` at `site` becomes a loop of `steps` rounds; [] when there is no such loop.

    A counter that the loop has already is used: `while step < 60:`.
    """
    try:
        file, line = code.at(site)
    except NoEdit:
        return []
    for loop in file.every(ast.While):
        if loop.lineno == line and steps > 0 and _reads_clock(code, file, loop.test):
            counter = _find_counter(file, loop)
            if counter is not None:
                return [replace_node(file, loop.test, f"{counter} < {steps}")]
            start, _ = file.span(loop)
            _, end = file.span(loop.test)
            return [Change(file.path, start, file.text.index(":", end), f"for _ in range({steps})")]
    return []


def _reads_clock(code: Code, file: File, test: ast.expr) -> bool:
    if not isinstance(test, ast.Compare):
        return False
    return any(
        find_behind(code, (file, part), run_dependent_calls.reads_clock)
        for part in (test.left, *test.comparators)
    )


def _find_counter(file: File, loop: ast.While) -> str | None:
    """A name that begins at 0 each time before the loop is entered, and gains 1 in each round."""
    for item in loop.body:
        counts = isinstance(item, ast.AugAssign) and isinstance(item.op, ast.Add) and _is(item.value, 1)
        target = item.target if isinstance(item, ast.AugAssign) else None
        if counts and isinstance(target, ast.Name) and _begins_at_zero(file, loop, target.id):
            return target.id
    return None


def _begins_at_zero(file: File, loop: ast.While, name: str) -> bool:
    for node in file.every(ast.Assign):
        for target, value in list_pairs(node):
            if isinstance(target, ast.Name) and target.id == name and file.parent(node) is file.parent(loop):
                return _is(value, 0) and node.lineno < loop.lineno
    return False


def _is(node: ast.expr, number: int) -> bool:
    return isinstance(node, ast.Constant) and node.value == number and not isinstance(node.value, bool)
