"""NumPy arrays that hold what the memory held before: https://numpy.org/doc/stable/reference/generated/numpy.empty.html."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from samerun.sources import _imported, _patch, _user_code
from samerun.sources.source import Journal, Undo
from samerun.wrapping import Around

MODULE = "numpy"
_NAMES = {"empty": "zeros", "empty_like": "zeros_like"}


def are_there() -> bool:
    """Whether NumPy is imported."""
    return all(_imported.has(MODULE, name) for name in (*_NAMES, *_NAMES.values()))


def note_uses(journal: Journal) -> Undo:
    """Note each one that the user's own code makes, in an "unwritten" row."""

    def note(name: str) -> Around:
        def call(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if _user_code.called_directly():
                journal.note("unwritten", f"numpy.{name}", user_only=True)
            return original(*args, **kwargs)

        return call

    return _wrapped(note)


def zero() -> Undo:
    """Give the user's own code zeros."""
    import numpy

    def zeros(name: str) -> Around:
        cleared = getattr(numpy, _NAMES[name])

        def call(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return (cleared if _user_code.called_directly() else original)(*args, **kwargs)

        return call

    return _wrapped(zeros)


def _wrapped(around: Callable[[str], Around]) -> Undo:
    import numpy

    return _patch.all_of([_patch.for_others(numpy, name, around(name)) for name in _NAMES])
