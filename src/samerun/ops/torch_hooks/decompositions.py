"""torch's detours in Python, which deterministic mode takes before any kernel is asked for.

`F.interpolate` and `F.pad` compute what has no deterministic kernel by slow decompositions, with other
bits in the forward pass; torchvision's roi_align has itself compiled. Where samerun has the kernel, the
straight way is taken again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch

from samerun.import_hook import call_once_imported
from samerun.wrapping import Around, undo_all, wrap_attribute

_ROI_ALIGN = "torchvision.ops.roi_align"
_LINEAR = {1: "upsample_linear1d", 2: "upsample_bilinear2d", 3: "upsample_trilinear3d"}


def direct(names: frozenset[str]) -> Callable[[], None]:
    """Take the straight way to the operations of these names; return what undoes it."""
    with ExitStack() as stack:
        stack.callback(_direct_torch(names))
        if "_roi_align_backward" in names:
            detour = _Detour()
            stack.callback(detour.undo)
            stack.callback(call_once_imported(_ROI_ALIGN, detour.avoid))
        return stack.pop_all().close


def _direct_torch(names: frozenset[str]) -> Callable[[], None]:
    # torch._decomp takes a second to import; where nothing needs it here, nothing is redirected either.
    straight: dict[str, Any] = {}
    if "upsample_bilinear2d_backward" in names:
        straight["_upsample_linear_vec"] = _call_upsample_linear
    if "replication_pad2d_backward" in names:
        straight["_replication_pad"] = _call_replication_pad
    if not straight:
        return lambda: None
    import torch._decomp.decompositions as decompositions

    module: Any = decompositions

    def going(function: Any) -> Around:
        return lambda original, args, kwargs: function(*args, **kwargs)

    return undo_all([wrap_attribute(module, name, going(function)) for name, function in straight.items()])


def _call_upsample_linear(
    input: torch.Tensor, output_size: Any, align_corners: bool, scale_factors: Any
) -> torch.Tensor:
    upsample = getattr(torch._C._nn, _LINEAR[input.dim() - 2])
    result: torch.Tensor = upsample(input, output_size, align_corners, scale_factors)
    return result


def _call_replication_pad(input: torch.Tensor, pad: Any) -> torch.Tensor:
    result: torch.Tensor = torch._C._nn.pad(input, pad, "replicate", None)
    return result


class _Detour:
    """torchvision.ops.roi_align._roi_align, which is called on CUDA in deterministic mode."""

    def __init__(self) -> None:
        self._undo: Callable[[], None] = lambda: None

    def avoid(self) -> None:
        """Have the operator called, where it is there to be called."""
        module: Any = sys.modules[_ROI_ALIGN]
        before = getattr(module, "_roi_align", None)  # older releases have none
        if before is not None and hasattr(torch.ops.torchvision, "roi_align"):
            self._undo = wrap_attribute(module, "_roi_align", self._roi_align)

    def undo(self) -> None:
        """Have the detour taken again."""
        self._undo()

    def _roi_align(self, original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        cuda = isinstance(args[0], torch.Tensor) and args[0].is_cuda if args else False
        return (torch.ops.torchvision.roi_align if cuda else original)(*args, **kwargs)
