"""Putting a source's own doings in the place of a function, for everyone but samerun itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from samerun import callsite, wrapping
from samerun.wrapping import Around, Undo
from samerun.wrapping import undo_all as undo_all


def replace(owner: Any, name: str, value: Any) -> Undo:
    """Set the attribute; a function, which takes what the original takes, comes to look like the original."""
    function = value.__func__ if isinstance(value, staticmethod) else value
    if not isinstance(function, FunctionType):
        return wrapping.replace(owner, name, value)
    wrapping.hide_frames(function)
    return wrapping.wrap_attribute(owner, name, lambda original, args, kwargs: function(*args, **kwargs))


def patch_for_others(owner: Any, name: str, hook: Around, also: Iterable[Any] = ()) -> Undo:
    """As `wrapping.wrap_attribute`; samerun's own calls are as ever: its clocks and files are no evidence."""
    wrapping.hide_frames(hook)

    def call(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if callsite.is_samerun(callsite.find_caller(2)):
            return original(*args, **kwargs)
        return hook(original, args, kwargs)

    return wrapping.wrap_attribute(owner, name, call, also)
