"""Flags that a control has set stay so: what the script sets them to later is noted, and not done.

Many a training turns cuDNN's benchmark mode on in its first lines, and a framework may turn deterministic
algorithms off: each would take a control back without a word.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from samerun.sources.source import Undo
from samerun.wrapping import Around, Parameter, undo_all, wrap_attribute

_value = Parameter("value", 0)
_mode, _warn_only = Parameter("mode", 0), Parameter("warn_only", 1)


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
        if bool(_value.of(args, kwargs, flag.value)) is flag.value:
            return original(*args, **kwargs)
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

    def use(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not _mode.of(args, kwargs, True):
            note("torch.use_deterministic_algorithms(False)")
        elif _warn_only.of(args, kwargs, False) and not torch.is_deterministic_algorithms_warn_only_enabled():
            note("torch.use_deterministic_algorithms(True, warn_only=True)")
        return None

    def debug(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        note("torch.set_deterministic_debug_mode")
        return None

    return undo_all(
        [
            wrap_attribute(torch, "use_deterministic_algorithms", use),
            wrap_attribute(torch, "set_deterministic_debug_mode", debug),
        ]
    )
