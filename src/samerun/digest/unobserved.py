"""Reading a tensor without being seen and without leaving a trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

_KEYS = (
    # dispatch modes, and the `__torch_dispatch__` of subclasses
    "Python",
    "PythonTLSSnapshot",
    "PreDispatch",
    # what torch.func puts around every operation while it transforms a function
    "FuncTorchDynamicLayerFrontMode",
    "FuncTorchDynamicLayerBackMode",
)


def _set(names: Iterable[str]) -> Any:
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.Undefined)
    for name in names:
        keys = keys | torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, name))
    return keys


_SEEN_BY = _set(_KEYS)
_exclude = torch._C._ExcludeDispatchKeyGuard


def hide_from_python() -> Any:
    """A context in which dispatch modes, subclasses and torch.func see no operation."""
    return _exclude(_SEEN_BY)


@contextmanager
def hide_ops() -> Iterator[None]:
    """Operations inside are hidden from function and dispatch modes, from autograd and from torch.func.

    It also switches off the `__torch_function__` and `__torch_dispatch__` of tensor subclasses, so a
    subclass is seen as the plain tensor that it is built on.
    """
    with (
        torch._C.DisableTorchFunction(),
        hide_from_python(),
        torch._C._AutoDispatchBelowAutograd(),
    ):
        yield
