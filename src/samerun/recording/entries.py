"""Where data comes into torch, or is copied in it, past the dispatcher."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from samerun.recording.operations import Operations
from samerun.recording.watch import Place
from samerun.sources import _user_code


def observe(mode: Operations) -> None:
    """Record what enters while the mode is active."""
    for name in ("from_numpy", "frombuffer", "as_tensor", "from_dlpack"):
        _observe_entry(mode, name)
    _observe_copies_of_storages(mode)


def _observe_entry(mode: Operations, name: str) -> None:
    """Record where data comes into torch past the dispatcher, as an operation whose inputs are not known."""
    recorder = mode.recorder
    function: Callable[..., torch.Tensor] = getattr(torch, name)

    def enter(tensor: torch.Tensor) -> None:
        if mode in _get_current_dispatch_mode_stack():
            frame = _user_code.user_frame(4)
            site = None if frame is None else _user_code.call_site(frame)
            module = mode.path()
            if mode.watch is not None:
                mode.watch.enters(tensor, Place(f"torch.{name}", module, site, recorder.where()[0]))
                recorder.gaps(mode.watch.take())
            recorder.operation(f"torch.{name}", None, module, site, [mode.memory.output(tensor)], [], [], 0)

    guarded = recorder.guard(enter)

    @functools.wraps(function)
    def wrapped(*arguments: Any, **keywords: Any) -> torch.Tensor:
        tensor = function(*arguments, **keywords)
        guarded(tensor)
        return tensor

    setattr(torch, name, wrapped)


def _observe_copies_of_storages(mode: Operations) -> None:
    """Know what copy.deepcopy() does: it copies into new memory, after an operation has been given it."""
    begins = mode.recorder.guard(mode.memory.overwrites)
    ends = mode.recorder.guard(mode.memory.overwritten)
    copy_: Callable[..., torch.UntypedStorage] = torch.UntypedStorage.copy_

    @functools.wraps(copy_)
    def wrapped(self: torch.UntypedStorage, source: Any, *args: Any, **kwargs: Any) -> torch.UntypedStorage:
        if mode not in _get_current_dispatch_mode_stack():
            return copy_(self, source, *args, **kwargs)
        begins(self)
        try:
            return copy_(self, source, *args, **kwargs)
        finally:
            ends(self)

    torch.UntypedStorage.copy_ = wrapped  # type: ignore[assignment, method-assign]
