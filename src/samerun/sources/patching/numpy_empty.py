"""NumPy arrays that hold what the memory held before: https://numpy.org/doc/stable/reference/generated/numpy.empty.html."""

from __future__ import annotations

import dis
import functools
from collections import defaultdict
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from samerun import callsite
from samerun.sources.patching import attribute, imported
from samerun.sources.source import Journal, Undo
from samerun.wrapping import Around, call_as_caller

MODULE = "numpy"
_NAMES = {"empty": "zeros", "empty_like": "zeros_like"}


def are_there() -> bool:
    """Whether NumPy is imported."""
    return all(imported.has(MODULE, name) for name in (*_NAMES, *_NAMES.values()))


def note_uses(journal: Journal) -> Undo:
    """Note each one that the user's own code makes, in an "unwritten" row."""

    def note(name: str) -> Around:
        def call(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if _is_named(callsite.find_direct_frame(), name):
                journal.note("unwritten", f"numpy.{name}", user_only=True)
            return original(*args, **kwargs)

        return call

    return _wrap_functions(note)


def zero() -> Undo:
    """Give the user's own code zeros."""
    import numpy

    def zeros(name: str) -> Around:
        cleared = call_as_caller(getattr(numpy, _NAMES[name]))

        def call(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if not callsite.is_called_directly():
                return original(*args, **kwargs)
            try:
                made = cleared(*args, **kwargs)
            except TypeError:
                return original(*args, **kwargs)  # which says what is wrong by its own name
            # NumPy itself makes each object None, where zeros would make it 0.
            return original(*args, **kwargs) if made.dtype.hasobject else made

        return call

    return _wrap_functions(zeros)


def _is_named(frame: FrameType | None, name: str) -> bool:
    """Whether the line that calls names it: compiled functions of NumPy fill what they ask for."""
    if frame is None or name not in frame.f_code.co_names:
        return False
    return name in _list_names(frame.f_code).get(frame.f_lineno, ())


@functools.lru_cache(maxsize=256)
def _list_names(code: CodeType) -> dict[int, set[str]]:
    """The names that each line of the code loads."""
    named = defaultdict[int, set[str]](set)
    lines = {offset: line for start, end, line in code.co_lines() if line for offset in range(start, end)}
    for instruction in dis.get_instructions(code):
        if instruction.offset in lines and isinstance(instruction.argval, str):
            named[lines[instruction.offset]].add(instruction.argval)
    return named


def _wrap_functions(around: Callable[[str], Around]) -> Undo:
    import numpy

    return attribute.undo_all([attribute.patch_for_others(numpy, name, around(name)) for name in _NAMES])
