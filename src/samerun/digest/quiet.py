"""Reading a tensor without being seen and without leaving a trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def quiet() -> Iterator[None]:
    """Operations inside are hidden from function and dispatch modes and from autograd.

    It also switches off the `__torch_function__` and `__torch_dispatch__` of tensor subclasses, so a
    subclass is seen as the plain tensor that it is built on.
    """
    with (
        torch._C.DisableTorchFunction(),
        torch._C._DisableTorchDispatch(),
        torch._C._AutoDispatchBelowAutograd(),
    ):
        yield
