"""Where a cause is in the code, when no record of it has a line: what an edit changes, or what draws."""

from __future__ import annotations

import ast
from pathlib import Path

from samerun.editing.edit import Change, NoEdit
from samerun.editing.user_program import Code
from samerun.explaining.cause import Cause
from samerun.explaining.patch import make_edits, read_code
from samerun.runs.difference import Difference
from samerun.sources.base.rng import Rng
from samerun.sources.catalogue import find_sources

_NO_DRAWS = frozenset({"seed", "getstate", "setstate", "get_state", "set_state", "default_rng"})


def locate_cause(difference: Difference, cause: Cause, folder: Path) -> str | None:
    """The line of a cause, as a call site; None when nothing tells it, or several lines may be meant."""
    code = read_code(difference, folder)
    return _locate_edited(difference, cause, code) or _locate_drawing(cause, code)


def _locate_edited(difference: Difference, cause: Cause, code: Code) -> str | None:
    try:
        for edit in make_edits(difference, cause, code):
            if isinstance(edit, Change) and edit.end > edit.start:
                file = code.file(edit.path)
                return file.site(file.line_of(edit.start))
    except NoEdit:
        pass
    return None


def _locate_drawing(cause: Cause, code: Code) -> str | None:
    """The one line that draws from the generator of a module's functions."""
    source = find_sources().get(cause.source)
    module = source.mended_by.rpartition(".")[0] if isinstance(source, Rng) else ""
    if module not in ("random", "numpy.random"):  # what draws from torch's has no one module
        return None
    lines = {
        file.site(call.lineno)
        for file in code.files
        for call in file.every(ast.Call)
        if _draws(file.called(call), module)
    }
    return lines.pop() if len(lines) == 1 else None


def _draws(function: str, module: str) -> bool:
    base, _, name = function.rpartition(".")
    return base == module and name.islower() and name not in _NO_DRAWS
