"""What the script holds goes as in a plain program, though what is there once torch is imported is frozen.

The import of torch leaves garbage in reference cycles, with frames that know the frames of whatever imports
it. `gc.freeze()` keeps such garbage, and those variables with it, until the process ends. What is frozen then
is finalised in another order, which a script's own finalisers may notice. Undoing it takes a collection of
all that torch made (0.3 s), so it is undone where the script holds an object with a finaliser.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import os
import sys
from collections.abc import Iterable
from types import FrameType, FunctionType, ModuleType
from typing import Any

from samerun import callsite

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_CONTEXTS = contextlib.contextmanager.__code__.co_filename
_MOST = 20_000  # objects that are looked at: 10 to 20 ms
_WITHOUT = (bool, bytes, complex, float, int, str, type(None))


def leave_importers_out() -> None:
    """To be called where the import is complete, before `gc.freeze()`."""
    if any(frame.f_code.co_flags & inspect.CO_OPTIMIZED for frame in _list_importing()):
        gc.collect()  # it takes a while: not for a module, whose variables stay as long as the process


def _list_importing() -> list[FrameType]:
    """The frames of the modules and functions that are under way, but for samerun's and the import's own."""
    found = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((_OWN, "<frozen importlib")) and name != _CONTEXTS:
            found.append(frame)
        frame = frame.f_back
    return found


def unfreeze_where_seen() -> None:
    """To be called as the process ends: what is frozen is collected again where the script would notice."""
    try:
        seen = _has_finaliser(_list_own_modules())
    except Exception:  # an odd object: better slow than otherwise
        seen = True
    if seen:
        gc.unfreeze()  # what is left is finalised in the order of a plain program


def _list_own_modules() -> list[ModuleType]:
    """The script and the modules of it."""
    found = []
    for name, module in list(sys.modules.items()):
        path = vars(module).get("__file__") if isinstance(module, ModuleType) else None
        is_own = isinstance(path, str) and os.path.isabs(path) and callsite.is_user_file(path)
        if is_own or name == "__main__":
            found.append(module)
    return found


def _has_finaliser(modules: Iterable[ModuleType]) -> bool:
    """Whether their globals lead to an object that acts as it goes, or to more than can be looked at.

    Nothing of an object is asked but its type: no code of the script runs.
    """
    own = {module.__name__ for module in modules}
    streams = (sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__)
    seen = {id(stream) for stream in streams}
    ahead: list[Any] = [value for module in modules for value in vars(module).values()]
    left = _MOST
    while ahead:
        value = ahead.pop()
        if type(value) in _WITHOUT or issubclass(type(value), ModuleType) or id(value) in seen:
            continue
        seen.add(id(value))
        left -= 1
        if left < 0 or _finalises(value if _is_own_class(value, own) else type(value)):
            return True
        ahead += _list_held(value, own)
    return False


def _is_own_class(value: Any, own: set[str]) -> bool:
    """Objects of it may be anywhere."""
    return issubclass(type(value), type) and type.__getattribute__(value, "__module__") in own


def _finalises(kind: type) -> bool:
    return any("__del__" in vars(base) for base in type.__getattribute__(kind, "__mro__"))


def _list_held(value: Any, own: set[str]) -> Iterable[Any]:
    """What a value keeps alive, but for modules' globals and the libraries' classes."""
    kind = type(value)
    if issubclass(kind, type):
        return list(vars(value).values()) if _is_own_class(value, own) else ()
    if kind is FunctionType:
        return value.__closure__, value.__defaults__, value.__kwdefaults__, value.__dict__
    return gc.get_referents(value)
