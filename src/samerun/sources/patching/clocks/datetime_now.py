"""Watching `datetime.now()` without putting another class in its place.

A stand-in class would break what compares types: pickling, isinstance in compiled code, pyarrow's import. So
the two methods that read the clock are replaced in the type's own namespace. `date.today()` and
`datetime.today()` call `time.time`, and need nothing.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from samerun.sources.source import Undo
from samerun.wrapping import Around, hide_frames, undo_all, wrap_attribute

_NAMES = ("now", "utcnow")


def replace(call: Callable[..., Any]) -> Undo:
    """Put `call(name, original, *args, **kwargs)` in the place of datetime.now and datetime.utcnow.

    `original` is bound to its class, and a warning of its own is one of the line that calls it.
    Does nothing where the type is not built as CPython builds it.
    """
    hide_frames(call)
    try:
        return undo_all([wrap_attribute(datetime.datetime, name, _make_hook(call, name)) for name in _NAMES])
    except TypeError:
        return lambda: None


def _make_hook(call: Callable[..., Any], name: str) -> Around:
    def hook(original: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return call(name, original, *args, **kwargs)

    return hook
