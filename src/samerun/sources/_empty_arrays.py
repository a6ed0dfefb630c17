"""NumPy arrays that hold what the memory held before: https://numpy.org/doc/stable/reference/generated/numpy.empty.html."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from samerun.sources import _imported, _patch, _user_code
from samerun.sources.source import Journal, Undo

MODULE = "numpy"
_NAMES = {"empty": "zeros", "empty_like": "zeros_like"}


def are_there() -> bool:
    """Whether NumPy is imported."""
    return all(_imported.has(MODULE, name) for name in (*_NAMES, *_NAMES.values()))


def note_uses(journal: Journal) -> Undo:
    """Note each one that the user's own code makes, in an "unwritten" row."""

    def note(name: str, made: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if _user_code.called_directly():
                journal.note("unwritten", f"numpy.{name}", user_only=True)
            return made(*args, **kwargs)

        return call

    return _wrapped(note)


def zero() -> Undo:
    """Give the user's own code zeros."""
    import numpy

    def zeros(name: str, made: Callable[..., Any]) -> Callable[..., Any]:
        cleared = getattr(numpy, _NAMES[name])

        def call(*args: Any, **kwargs: Any) -> Any:
            return (cleared if _user_code.called_directly() else made)(*args, **kwargs)

        return call

    return _wrapped(zeros)


def _wrapped(around: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> Undo:
    import numpy

    undos = []
    for name in _NAMES:
        original = getattr(numpy, name)
        wrapper = _patch.Wrapper(numpy, original, around(name, original))
        undos += [wrapper.release, _patch.replace(numpy, name, wrapper)]
    return _patch.all_of(undos)
