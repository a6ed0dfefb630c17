"""The edits that seed an environment of Gymnasium's or Gym's, once.

Where it is made, and not where it is reset: a reset with a seed begins the same episode again each time
(https://gymnasium.farama.org/api/env/#gymnasium.Env.reset).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from samerun.editing.edit import Edit
from samerun.editing.edit_builders import insert_after
from samerun.editing.run_counts import is_run_once
from samerun.editing.source_file import File
from samerun.editing.user_program import Code
from samerun.runs.difference import Row

_PACKAGES = frozenset({"gym", "gymnasium"})
_RANKS = ("distributed", "Accelerator", "Fabric", "WORLD_SIZE")
_VECTORS = ("vec", "Vec")  # seeds each of its environments with another number


def seed_environment(code: Code, rows: Sequence[Row]) -> list[Edit]:
    """A line after the one that makes what is used where these "unseeded" rows are from, one line.

    Nothing for environments that are made again and again, or in several processes: all would begin alike.
    """
    if {row.process for row in rows} != {"rank0"} or _trains_in_ranks(code):
        return []
    file, calls = code.calls(rows[0].call_site)
    for call in calls:
        found = _find_seeding(file, call)
        if found is None:
            continue
        name, seeding = found
        made = _find_maker(code, file, name)
        if made is not None and (len(rows) == 1 or any(word in file.said(made) for word in _VECTORS)):
            return [insert_after(file, _find_last(file, name, made), seeding)]
    return []


def explain_unseeded(code: Code, rows: Sequence[Row]) -> str | None:
    """Why an environment gets no seed by an edit, None where these rows are not of one."""
    file, calls = code.calls(rows[0].call_site)
    seeding = next((found[1] for call in calls if (found := _find_seeding(file, call)) is not None), None)
    if seeding is None:
        return None
    number = f"{seeding.removesuffix('0)')}number)"
    return (
        "the environment is made in several processes, or again and again, or nobody sees where, and one "
        f"seed would begin all of them alike: {number} once after each is made, with another number for each"
    )


def _trains_in_ranks(code: Code) -> bool:
    """Whether the code speaks of several: the rows of a difference are those of one rank alone."""
    return any(word in file.text for file in code.files for word in _RANKS)


def _find_seeding(file: File, call: ast.Call) -> tuple[str, str] | None:
    """(the environment, what seeds it) of a call that draws from its generator; None: it is no such call."""
    if not isinstance(call.func, ast.Attribute):
        return None
    drawn = call.func.value
    if call.func.attr == "reset" and not call.args and all(item.arg != "seed" for item in call.keywords):
        return file.said(drawn), f"{file.said(drawn)}.reset(seed=0)"
    if call.func.attr == "sample" and isinstance(drawn, ast.Attribute) and drawn.attr.endswith("_space"):
        return file.said(drawn.value), f"{file.said(drawn)}.seed(0)"
    return None


def _find_maker(code: Code, file: File, name: str) -> ast.Assign | None:
    """The one statement that makes the environment of that name; None where it may make several."""
    made = [
        statement
        for statement in file.every(ast.Assign)
        if [file.said(target) for target in statement.targets] == [name] and _makes(file, statement.value)
    ]
    return made[0] if len(made) == 1 and is_run_once(code, file, made[0]) else None


def _makes(file: File, value: ast.expr) -> bool:
    calls = (node for node in ast.walk(value) if isinstance(node, ast.Call))
    return any((file.called(call) or "").partition(".")[0] in _PACKAGES for call in calls)


def _find_last(file: File, name: str, made: ast.Assign) -> ast.Assign:
    """The last statement beside that one which wraps the environment: `env = Monitor(env)`."""
    beside = [
        statement
        for statement in file.every(ast.Assign)
        if file.parent(statement) is file.parent(made)
        and statement.lineno >= made.lineno
        and [file.said(target) for target in statement.targets] == [name]
        and (statement is made or name in map(file.said, ast.walk(statement.value)))
    ]
    return beside[-1]
