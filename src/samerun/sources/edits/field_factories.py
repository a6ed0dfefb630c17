"""Where a class has a function called for each of its objects: a field with a `default_factory`."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from samerun.editing.edit import Edit, NoEdit
from samerun.editing.edit_builders import replace_node
from samerun.editing.import_names import write_name
from samerun.editing.source_file import File, get_last_name
from samerun.editing.user_program import Code

_FACTORIES = ("default_factory", "factory")  # of dataclasses and Pydantic, of attrs


def find_factory(code: Code, site: str | None, gives: re.Pattern[str]) -> str | None:
    """The line of the field that has such a function called at `site`, where an object is made.

    None where the line itself calls one, where it makes no object of the user's, and where several fields do.
    """
    try:
        file, calls = code.calls(site)
    except NoEdit:
        return None
    classes = {node.name for other in code.files for node in other.every(ast.ClassDef)}
    if any(gives.fullmatch(file.called(call)) for call in calls):
        return None
    if classes.isdisjoint(map(get_last_name, calls)):
        return None
    found = {
        other.site(item.value.lineno)
        for other in code.files
        for item in other.every(ast.keyword)
        if item.arg in _FACTORIES and gives.fullmatch(other.dotted(item.value))
    }
    return found.pop() if len(found) == 1 else None


def seed_factories(code: Code, makers: Collection[str], draw: str, arguments: str) -> list[Edit]:
    """`default_factory=MAKER` becomes `lambda: MAKER(DRAW(ARGUMENTS))`, and so does `defaultdict(MAKER)`.

    Each instance has a generator of its own: one constant would make them all alike. [] where there is none.
    """
    edits: list[Edit] = []
    for file in code.files:
        for made in _list_factories(file):
            if file.dotted(made) in makers:
                name, missing = write_name(file, draw, made)
                text = f"lambda: {file.said(made)}({name}({arguments}))"
                edits.append(replace_node(file, made, text, missing))
    return edits


def _list_factories(file: File) -> Iterator[ast.expr]:
    """What is called for each object: of a field, and of each new key of a `defaultdict`."""
    for item in file.every(ast.keyword):
        if item.arg in _FACTORIES:
            yield item.value
    for call in file.every(ast.Call):
        if get_last_name(call) == "defaultdict":
            yield from call.args[:1]
