"""Flags that a control has set stay so: what the script sets them to later is noted, and not done.

Many a training turns cuDNN's benchmark mode on in its first lines, and a framework may turn deterministic
algorithms off: each would take a control back without a word.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from samerun.sources.source import Undo
from samerun.wrapping import Around, Parameter, undo_all, wrap_attribute

_debug_mode = Parameter("debug_mode", 0)
_LEVELS: dict[str | int, int] = {"default": 0, "warn": 1, "error": 2}


class Flag(NamedTuple):
    """A flag of torch.backends, which stays at `value`."""

    module: str
    name: str
    setter: str  # what of torch._C sets it
    value: bool


def hold(flag: Flag, note: Callable[[str], None]) -> Undo:
    """Keep a flag; `note` is given what the script wrote, each time that it would have changed it."""
    written = f"{flag.module}.{flag.name} = {not flag.value}"

    def set_(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if kwargs or args != (not flag.value,) or type(args[0]) is not bool:
            return original(*args, **kwargs)  # as it is already, or what says what is wrong
        note(written)
        return None

    return wrap_setter(flag, set_)


def wrap_setter(flag: Flag, hook: Around) -> Undo:
    """Have the hook make every change of a flag, by assignment and by torch's own functions."""
    import torch

    core: Any = torch._C
    undo = wrap_attribute(core, flag.setter, hook)
    # `module.name = value` has the function that it calls from when torch was imported
    attribute: Any = vars(type(sys.modules[flag.module])).get(flag.name)
    if not hasattr(attribute, "setter"):
        return undo
    before = attribute.setter
    attribute.setter = lambda value: getattr(core, flag.setter)(value)

    def restore() -> None:
        attribute.setter = before

    return undo_all([undo, restore])


def hold_deterministic(note: Callable[[str], None]) -> Undo:
    """Keep deterministic algorithms as they are, whatever they are asked to be."""
    import torch

    def is_so(mode: Any, warn_only: Any) -> bool:
        now = torch.is_deterministic_algorithms_warn_only_enabled()
        return bool(mode) and bool(warn_only) is now

    def use(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            given = inspect.signature(original).bind(*args, **kwargs).arguments
        except TypeError:
            return original(*args, **kwargs)  # which says what is wrong
        mode, warn_only = given["mode"], given.get("warn_only", False)
        if not is_so(mode, warn_only):
            words = f"{bool(mode)}{', warn_only=True' if warn_only else ''}"
            note(f"torch.use_deterministic_algorithms({words})")
        return None

    def debug(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        asked = _debug_mode.of(args, kwargs)
        level = _LEVELS.get(asked, asked) if isinstance(asked, (str, int)) else None
        if len(args) + len(kwargs) != 1 or level not in (0, 1, 2):
            return original(*args, **kwargs)  # which says what is wrong
        if not is_so(level > 0, level == 1):
            note(f"torch.set_deterministic_debug_mode({asked!r})")
        return None

    return undo_all(
        [
            wrap_attribute(torch, "use_deterministic_algorithms", use),
            wrap_attribute(torch, "set_deterministic_debug_mode", debug),
        ]
    )
