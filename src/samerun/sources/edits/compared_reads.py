"""Where the code compares what a clock gave: a time limit, or the fastest of several ways."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from samerun.editing.index import index
from samerun.editing.source_file import File, get_last_name
from samerun.sources.edits.run_dependent_calls import reads_clock

_BY_SIZE = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_CHOOSE = frozenset(["min", "max", "sorted", "sort", "argmin", "argmax", "argsort"])


def list_compared_reads(file: File) -> Iterator[ast.expr]:
    """The reads of a clock in what is compared or chosen by size, or in what was kept under its name."""
    for compare in file.every(ast.Compare):
        if any(isinstance(item, _BY_SIZE) for item in compare.ops):
            yield from _list_reads(file, compare, [])
    kept = list(_list_kept(file))
    for call in file.every(ast.Call):
        if get_last_name(call) in _CHOOSE:
            yield from _list_reads(file, call, kept)


def _list_kept(file: File) -> Iterator[tuple[str, ast.expr]]:
    """What goes into a list or dict, with the text of its name: `times[way] = …`, `times.append(…)`."""
    for assign in file.every(ast.Assign):
        for target in assign.targets:
            if isinstance(target, ast.Subscript):
                yield ast.unparse(target.value), assign.value
    for name, values in index(file).added.items():
        yield from ((name, value) for value in values)


def _list_reads(file: File, top: ast.expr, kept: list[tuple[str, ast.expr]]) -> Iterator[ast.expr]:
    for node in ast.walk(top):
        if isinstance(node, ast.expr) and reads_clock(file, node):
            yield node
        if isinstance(node, ast.Name):
            values = [*index(file).names[file.scope(node), node.id]]
            values += [value for name, value in kept if name == node.id]
            for value in values:
                parts = (part for part in ast.walk(value) if isinstance(part, ast.expr))
                yield from (part for part in parts if reads_clock(file, part))
