"""What a dotted name stands for in a frame, found without running code of the user's."""

from __future__ import annotations

import builtins
from types import BuiltinFunctionType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

NOTHING = object()
_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType)


def find_value(frame: FrameType, dotted: str) -> object:
    """The value of a name in a frame, attribute by attribute, past everything that would run code."""
    first, *rest = dotted.split(".")
    value = frame.f_locals.get(first, NOTHING)
    if value is NOTHING:
        value = frame.f_globals.get(first, NOTHING)
    if value is NOTHING:
        value = getattr(builtins, first, NOTHING)
    for name in rest:
        value = _find_attribute(value, name)
        if value is NOTHING:
            break
    return value


def _find_attribute(value: object, name: str) -> object:
    try:
        held = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        return NOTHING
    if isinstance(value, type):
        return held.get(name, NOTHING)
    if type(held) is not dict:
        return NOTHING
    if name in held:
        return held[name]
    for tensors in ("_parameters", "_buffers", "_modules"):  # of a torch.nn.Module
        inner = held.get(tensors)
        if type(inner) is dict and name in inner:
            return inner[name]
    return NOTHING


def name_function(frame: FrameType, dotted: str) -> str:
    """`module.name` of what a call calls, as far as it can be known without running code."""
    if dotted.startswith("."):
        return dotted
    owner, _, name = dotted.rpartition(".")
    of = find_value(frame, owner) if owner else NOTHING
    if isinstance(of, ModuleType):
        return f"{of.__name__}.{name}"
    found = find_value(frame, dotted)
    kind = type(found)
    if kind in _FUNCTIONS:
        return _qualify(found)
    if found is not NOTHING:
        return _qualify(found if issubclass(kind, type) else kind)
    if of is NOTHING:
        return f".{name}"
    return f"{_qualify(of if issubclass(type(of), type) else type(of))}.{name}"


def _qualify(found: Any) -> str:
    module = found.__module__
    if module is None:  # a method of something built in
        module = type(found.__self__).__module__
    return f"{module}.{found.__qualname__}"
