"""Watching `datetime.now()` without putting another class in its place.

A stand-in class would break what compares types: pickling, isinstance in compiled code, pyarrow's import. So
the two methods that read the clock are replaced in the type's own namespace (CPython keeps it read-only for
Python code alone). `date.today()` and `datetime.today()` call `time.time`, and need nothing.
"""

from __future__ import annotations

import ctypes
import datetime
import gc
from collections.abc import Callable
from typing import Any

from samerun import wrapping
from samerun.sources.source import Undo
from samerun.wrapping import Around

_NAMES = ("now", "utcnow")


def replace(call: Callable[..., Any]) -> Undo:
    """Put `call(name, original, cls, *args)` in the place of datetime.now and datetime.utcnow.

    `original` is bound to `cls`. Does nothing where the type is not built as CPython builds it.
    """
    space = _namespace()
    if space is None:
        return lambda: None
    before = {name: space[name] for name in _NAMES}
    ours: dict[str, Any] = {
        name: classmethod(wrapping.wrap(before[name], _calling(call, name, before[name]))) for name in _NAMES
    }
    _write(space, ours)

    def undo() -> None:
        if all(space[name] is ours[name] for name in _NAMES):
            _write(space, before)

    return undo


def _calling(call: Callable[..., Any], name: str, method: Any) -> Around:
    def hook(original: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        bound = wrapping.in_the_callers_name(method.__get__(None, args[0]))  # utcnow() warns
        return call(name, bound, *args, **kwargs)

    return hook


def _namespace() -> dict[str, Any] | None:
    held = gc.get_referents(datetime.datetime.__dict__)
    space = held[0] if held else None
    return space if isinstance(space, dict) and all(name in space for name in _NAMES) else None


def _write(space: dict[str, Any], methods: dict[str, Any]) -> None:
    space.update(methods)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(datetime.datetime))  # drops cached lookups
