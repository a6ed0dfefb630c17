"""Where data comes into torch, or is copied in it, past the dispatcher."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from samerun import callsite
from samerun.recording.ops.dispatch_mode import Operations
from samerun.recording.ops.external_writes import Place
from samerun.recording.trace.pending_operation import PendingOperation
from samerun.recording.trace.pending_record import pack_parts
from samerun.wrapping import wrap_attribute


def observe(mode: Operations) -> None:
    """Record what enters while the mode is active."""
    for name in ("from_numpy", "frombuffer", "as_tensor", "from_dlpack"):
        _observe_entry(mode, name)
    _observe_copies_of_storages(mode)


def _observe_entry(mode: Operations, name: str) -> None:
    """Record where data comes into torch past the dispatcher, as an operation whose inputs are not known."""
    recorder, cursor = mode.recorder, mode.cursor

    def enter(tensor: torch.Tensor) -> None:
        if mode in _get_current_dispatch_mode_stack():
            frame = callsite.find_user_frame(4)
            site = None if frame is None else callsite.call_site(frame)
            module = mode.path()
            step, phase = cursor.where()
            if mode.watch is not None:
                mode.watch.enters(tensor, Place(f"torch.{name}", module, site, step))
                recorder.gaps(mode.watch.take())
            parts = pack_parts([mode.memory.output(tensor)])
            if not cursor.in_worker:
                name_ = f"torch.{name}"
                recorder.sink.write_operation(
                    PendingOperation(name_, module, site, b"", step=step, phase=phase, parts=parts)
                )

    guarded = recorder.guard(enter)

    def made(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tensor = original(*args, **kwargs)
        guarded(tensor)
        return tensor

    wrap_attribute(torch, name, made)


def _observe_copies_of_storages(mode: Operations) -> None:
    """Know what copy.deepcopy() does: it copies into new memory, after an operation has been given it."""
    begins = mode.recorder.guard(mode.memory.overwrites)
    ends = mode.recorder.guard(mode.memory.overwritten)

    def copied(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        is_one = args and isinstance(args[0], torch.UntypedStorage)
        if not is_one or mode not in _get_current_dispatch_mode_stack():
            return original(*args, **kwargs)
        begins(args[0])
        try:
            return original(*args, **kwargs)
        finally:
            ends(args[0])

    wrap_attribute(torch.UntypedStorage, "copy_", copied)
