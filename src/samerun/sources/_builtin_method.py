"""Replacing a method of a class that is written in C, so that the class itself stays what it is."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

from samerun.sources.source import Undo


def replace(kind: type, name: str, value: Any) -> Undo:
    """Set the method; the undo restores what was there, unless somebody replaced ours meanwhile.

    A subclass in the class's place would be another type to whoever compares or annotates types.
    Raises TypeError where the class's own dictionary cannot be reached.
    """
    found = gc.get_referents(kind.__dict__)
    if len(found) != 1 or not isinstance(found[0], dict):
        raise TypeError(f"{kind.__qualname__}.{name} cannot be replaced in this Python")
    names: dict[str, Any] = found[0]
    before = names[name]

    def put(method: Any) -> None:
        names[name] = method
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))  # looked up anew from here on

    def undo() -> None:
        if names.get(name) is value:
            put(before)

    put(value)
    return undo
