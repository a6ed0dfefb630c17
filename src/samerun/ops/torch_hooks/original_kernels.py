"""torch's own kernels, for the cases of a replaced operation that they repeat."""

from __future__ import annotations

import functools
from typing import Any

import torch

_kept: dict[tuple[str, str], Any] = {}  # (overload, dispatch key) → torch's kernel


@functools.cache
def _keys(key: str) -> torch._C.DispatchKeySet:
    parsed: Any = torch._C._parse_dispatch_key(key)
    return torch._C.DispatchKeySet(parsed)


def remember(overload: str, key: str) -> None:
    """Keep torch's kernel of an overload for a dispatch key; to be called before it is replaced."""
    if (overload, key) not in _kept:
        try:
            _kept[overload, key] = torch.library.get_kernel(overload, key)
        except RuntimeError:  # this torch is built without it
            pass


def call(overload: str, device: torch.device, *args: Any, **kwargs: Any) -> Any:
    """What torch's own kernel of an overload gives."""
    key = torch._C._dispatch_key_for_device(device.type)
    kernel = _kept.get((f"aten::{overload}", key)) or torch.library.get_kernel(f"aten::{overload}", key)
    return kernel.call_boxed(_keys(key), *args, **kwargs)
