"""Backward passes of the average pools: each input adds up the windows that it lies in."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch

from samerun.ops.engines import windows
from samerun.ops.engines.bands import gather, sum_dtype
from samerun.ops.engines.formats import format_like
from samerun.ops.example_inputs import draw_normal
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
    kernel, pads = _repeat_three(kernel_size), _repeat_three(padding)
    strides = _repeat_three(stride) if len(stride) else kernel
    geometry = list(zip(self.shape[-3:], grad_output.shape[-3:], kernel, strides, pads, strict=True))
    dtype = sum_dtype(grad_output)
    if divisor_override:
        cells = [torch.ones(out, dtype=dtype, device=self.device) for out in grad_output.shape[-3:]]
        cells[0] *= divisor_override
    else:
        cells = [_count_cells(*one, count_include_pad, dtype, self.device) for one in geometry]
    bands = [windows.build_sliding(*one, 1, self.device) for one in geometry]
    return gather(grad_output, bands, cells).contiguous()


def adaptive_avg_pool_backward(dims: int, grad_output: torch.Tensor, self: torch.Tensor) -> torch.Tensor:
    """The gradient of self, from grad_output [N?, C, *dims]."""
    geometry = list(zip(self.shape[-dims:], grad_output.shape[-dims:], strict=True))
    cells = [_compute_widths(*one, sum_dtype(grad_output), self.device) for one in geometry]
    result = gather(grad_output, [windows.build_adaptive(*one, self.device) for one in geometry], cells)
    return format_like(result, self) if dims == 2 else result.contiguous()


@functools.lru_cache(maxsize=256)
def _count_cells(
    inputs: int,
    outputs: int,
    kernel: int,
    stride: int,
    padding: int,
    with_padding: bool,
    dtype: torch.dtype,
    device: torch.device,
) -> torch.Tensor:
    """How many cells of one dimension each window is divided by."""
    with torch.inference_mode(False):
        starts = torch.arange(outputs) * stride - padding
        ends = (starts + kernel).clamp(max=inputs + padding)
        if not with_padding:
            starts, ends = starts.clamp(min=0), ends.clamp(max=inputs)
        return (ends - starts).to(device, dtype)


@functools.lru_cache(maxsize=256)
def _compute_widths(inputs: int, outputs: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    with torch.inference_mode(False):
        starts, ends = windows.compute_adaptive_bounds(inputs, outputs)
        return (ends - starts).to(device, dtype)


def _repeat_three(sizes: Sequence[int]) -> list[int]:
    return list(sizes) if len(sizes) == 3 else [sizes[0]] * 3


_WHY = "windows that overlap add to the same inputs, atomically"
_HOW = "each input gathers from the windows that cover it, dimension by dimension, in ascending order"
_COST = "reads each gradient once for every window an input lies in, one dimension after the other"

IMPLEMENTATIONS = (
    Implementation(
        name="avg_pool3d_backward",
        kernels={"avg_pool3d_backward": avg_pool3d_backward},
        example=lambda device: (
            draw_normal((4, 16, 13, 27, 27), device),
            draw_normal((4, 16, 14, 28, 28), device),
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
        example=lambda device: (draw_normal((8, 64, 7, 7), device), draw_normal((8, 64, 30, 30), device)),
        why=_WHY,
        how=_HOW,
        source="torch's avg_pool2d_backward on CUDA, which gathers",
        cost=_COST,
        alerts=("adaptive_avg_pool2d_backward_cuda", "adaptive_avg_pool2d_backward_out_cuda"),
    ),
    Implementation(
        name="_adaptive_avg_pool3d_backward",
        kernels={"_adaptive_avg_pool3d_backward": functools.partial(adaptive_avg_pool_backward, 3)},
        example=lambda device: (
            draw_normal((4, 16, 3, 7, 7), device),
            draw_normal((4, 16, 8, 30, 30), device),
        ),
        why=_WHY,
        how=_HOW,
        source="torch's avg_pool2d_backward on CUDA, which gathers",
        cost=_COST,
        alerts=("adaptive_avg_pool3d_backward_cuda", "adaptive_avg_pool3d_backward_out_cuda"),
    ),
)
