"""Where a class has a function called for each of its objects: a field with a `default_factory`."""

from __future__ import annotations

import ast
import re

from samerun.editing.edit import NoEdit
from samerun.editing.source_file import get_last_name
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
