"""Whether Triton works on a device: it needs a compiler for its launcher, and a device that it knows."""

from __future__ import annotations

import functools
import warnings
from contextlib import AbstractContextManager, nullcontext

import torch


def works_on(device: torch.device) -> bool:
    """Whether a kernel was compiled and run on this device; what cannot is computed by torch's operations.

    Found out once in a process, with a warning when not: which kernel computes a sum decides its bits.
    """
    return device.type == "cuda" and _works(device.index or 0)


@functools.cache
def _works(number: int) -> bool:
    try:
        from samerun.ops.engines.bands_triton import gather
    except ImportError:  # no Triton
        return False
    from samerun.ops.engines.bands import build_band

    device = torch.device("cuda", number)
    try:
        one = build_band(torch.tensor([0, 1]), torch.tensor([0, 0]), 1, device)
        found = gather(torch.tensor([[1.0, 2.0]], device=device), [one]).item()
    except Exception as error:  # of whatever kind: a compiler that is not there, a driver that is too old
        warnings.warn(
            f"Triton does not work on {device} ({type(error).__name__}: {error}); samerun computes its "
            "operations there by torch's, which is slower",
            stacklevel=2,
        )
        return False
    return found == 3.0


def launch_on(device: torch.device) -> AbstractContextManager[object]:
    """A context in which kernels are launched on this device: Triton launches on the current one."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()
