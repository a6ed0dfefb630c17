"""Backward passes of the average pools: each input adds up the windows that it lies in."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch

from samerun.ops import _windows
from samerun.ops._bands import accumulated_in, gather
from samerun.ops._examples import normal
from samerun.ops._formats import like
from samerun.ops.implementation import Implementation


def avg_pool3d_backward(
    grad_output: torch.Tensor,
    self: torch.Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> torch.Tensor:
    """The gradient of self, from grad_output [N?, C, D, H, W]."""
    kernel, pads = _three(kernel_size), _three(padding)
    strides = _three(stride) if len(stride) else kernel
    sizes, outs = self.shape[-3:], grad_output.shape[-3:]
    grad = accumulated_in(grad_output)
    cells = torch.ones((), dtype=grad.dtype, device=grad.device)
    if divisor_override:
        grad = grad / divisor_override
    else:
        for dim, geometry in enumerate(zip(sizes, outs, kernel, strides, pads, strict=True)):
            counts = _counts(*geometry, count_include_pad, grad.device).to(grad.dtype)
            counts = counts.view([-1 if at == dim else 1 for at in range(3)])
            cells = cells * counts
        grad = grad / cells
    bands = [
        _windows.sliding(size, out, k, s, p, 1, grad.device)
        for size, out, k, s, p in zip(sizes, outs, kernel, strides, pads, strict=True)
    ]
    return gather(grad, bands).to(self.dtype).contiguous()


def adaptive_avg_pool_backward(dims: int, grad_output: torch.Tensor, self: torch.Tensor) -> torch.Tensor:
    """The gradient of self, from grad_output [N?, C, *dims]."""
    sizes, outs = self.shape[-dims:], grad_output.shape[-dims:]
    grad = accumulated_in(grad_output)
    cells = torch.ones((), dtype=grad.dtype, device=grad.device)
    for dim, (size, out) in enumerate(zip(sizes, outs, strict=True)):
        widths = _widths(size, out, grad.device).to(grad.dtype)
        widths = widths.view([-1 if at == dim else 1 for at in range(dims)])
        cells = cells * widths
    bands = [_windows.adaptive(size, out, grad.device) for size, out in zip(sizes, outs, strict=True)]
    result = gather(grad / cells, bands).to(self.dtype)
    return like(result, self) if dims == 2 else result.contiguous()


@functools.lru_cache(maxsize=256)
def _counts(
    inputs: int,
    outputs: int,
    kernel: int,
    stride: int,
    padding: int,
    with_padding: bool,
    device: torch.device,
) -> torch.Tensor:
    """How many cells of one dimension each window is divided by."""
    with torch.inference_mode(False):
        starts = torch.arange(outputs) * stride - padding
        ends = (starts + kernel).clamp(max=inputs + padding)
        if not with_padding:
            starts, ends = starts.clamp(min=0), ends.clamp(max=inputs)
        return (ends - starts).to(device)


@functools.lru_cache(maxsize=256)
def _widths(inputs: int, outputs: int, device: torch.device) -> torch.Tensor:
    with torch.inference_mode(False):
        starts, ends = _windows.adaptive_bounds(inputs, outputs)
        return (ends - starts).to(device)


def _three(sizes: Sequence[int]) -> list[int]:
    return list(sizes) if len(sizes) == 3 else [sizes[0]] * 3


_WHY = "windows that overlap add to the same inputs, atomically"
_HOW = "each input gathers from the windows that cover it, dimension by dimension, in ascending order"
_COST = "reads each gradient once for every window an input lies in, one dimension after the other"

IMPLEMENTATIONS = (
    Implementation(
        name="avg_pool3d_backward",
        kernels={"avg_pool3d_backward": avg_pool3d_backward},
        example=lambda device: (
            normal((4, 16, 13, 27, 27), device),
            normal((4, 16, 14, 28, 28), device),
            [2, 2, 2],
            [1, 1, 1],
            [0, 0, 0],
            False,
            True,
            None,
        ),
        why=_WHY,
        how=_HOW,
        source="torch's avg_pool2d_backward on CUDA, which gathers",
        cost=_COST,
        alerts=("avg_pool3d_backward_cuda",),
    ),
    Implementation(
        name="_adaptive_avg_pool2d_backward",
        kernels={"_adaptive_avg_pool2d_backward": functools.partial(adaptive_avg_pool_backward, 2)},
        example=lambda device: (normal((8, 64, 7, 7), device), normal((8, 64, 30, 30), device)),
        why=_WHY,
        how=_HOW,
        source="torch's avg_pool2d_backward on CUDA, which gathers",
        cost=_COST,
        alerts=("adaptive_avg_pool2d_backward_cuda", "adaptive_avg_pool2d_backward_out_cuda"),
    ),
    Implementation(
        name="_adaptive_avg_pool3d_backward",
        kernels={"_adaptive_avg_pool3d_backward": functools.partial(adaptive_avg_pool_backward, 3)},
        example=lambda device: (normal((4, 16, 3, 7, 7), device), normal((4, 16, 8, 30, 30), device)),
        why=_WHY,
        how=_HOW,
        source="torch's avg_pool2d_backward on CUDA, which gathers",
        cost=_COST,
        alerts=("adaptive_avg_pool3d_backward_cuda", "adaptive_avg_pool3d_backward_out_cuda"),
    ),
)
