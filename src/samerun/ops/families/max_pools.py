"""Backward passes of the max pools: each input looks into the windows that it lies in for its own place."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch

from samerun.ops.engines import windows
from samerun.ops.engines.bands import gather_named
from samerun.ops.engines.formats import format_like
from samerun.ops.example_inputs import draw_normal
from samerun.ops.implementation import Implementation


def max_pool3d_with_indices_backward(
    grad_output: torch.Tensor,
    self: torch.Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    indices: torch.Tensor,
) -> torch.Tensor:
    """The gradient of self, from grad_output and the places of the maxima, [N?, C, D, H, W] each."""
    kernel, pads, steps = _repeat_three(kernel_size), _repeat_three(padding), _repeat_three(dilation)
    strides = _repeat_three(stride) if len(stride) else kernel
    geometry = zip(self.shape[-3:], grad_output.shape[-3:], kernel, strides, pads, steps, strict=True)
    bands = [windows.build_sliding(*one, self.device) for one in geometry]
    return format_like(gather_named(grad_output, bands, indices), self)


def adaptive_max_pool_backward(
    dims: int, grad_output: torch.Tensor, self: torch.Tensor, indices: torch.Tensor
) -> torch.Tensor:
    """The gradient of self, from grad_output and the places of the maxima, [N?, C, *dims] each."""
    geometry = zip(self.shape[-dims:], grad_output.shape[-dims:], strict=True)
    bands = [windows.build_adaptive(*one, self.device) for one in geometry]
    result = gather_named(grad_output, bands, indices)
    return format_like(result, self) if dims == 2 else result.contiguous()


def _repeat_three(sizes: Sequence[int]) -> list[int]:
    return list(sizes) if len(sizes) == 3 else [sizes[0]] * 3


def _make_example(device: torch.device, dims: int) -> tuple[torch.Tensor, ...]:
    self = draw_normal((4, 16, 10, 28, 28)[: 2 + dims], device)
    pool = torch.nn.functional.adaptive_max_pool2d if dims == 2 else torch.nn.functional.adaptive_max_pool3d
    output, indices = pool(self, (7, 12, 12)[-dims:], return_indices=True)
    return draw_normal(tuple(output.shape), device), self, indices


def _make_sliding_example(device: torch.device) -> tuple[object, ...]:
    self = draw_normal((2, 16, 10, 20, 20), device)
    geometry = [3, 3, 3], [1, 1, 1], [1, 1, 1], [1, 1, 1], False
    output, indices = torch.ops.aten.max_pool3d_with_indices(self, *geometry)
    return draw_normal(tuple(output.shape), device), self, *geometry, indices


_WHY = "windows that overlap add to the same maximum, atomically"
_HOW = "each input reads the windows that cover it, in ascending order, and adds what names it as the maximum"
_SOURCE = "torch's max_pool2d_with_indices_backward on CUDA, which gathers"
_COST = "reads gradients and places once for every window an input lies in"

IMPLEMENTATIONS = (
    Implementation(
        name="max_pool3d_with_indices_backward",
        kernels={"max_pool3d_with_indices_backward": max_pool3d_with_indices_backward},
        example=_make_sliding_example,
        why=_WHY,
        how=_HOW,
        source=_SOURCE,
        cost=_COST,
        alerts=("max_pool3d_with_indices_backward_cuda", "max_pool3d_with_indices_backward_out_cuda"),
    ),
    Implementation(
        name="adaptive_max_pool2d_backward",
        kernels={"adaptive_max_pool2d_backward": functools.partial(adaptive_max_pool_backward, 2)},
        example=functools.partial(_make_example, dims=2),
        why=_WHY,
        how=_HOW,
        source=_SOURCE,
        cost=_COST,
        alerts=("adaptive_max_pool2d_backward_cuda",),
    ),
    Implementation(
        name="adaptive_max_pool3d_backward",
        kernels={"adaptive_max_pool3d_backward": functools.partial(adaptive_max_pool_backward, 3)},
        example=functools.partial(_make_example, dims=3),
        why="windows that overlap add to the same maximum, atomically, and torch does not say so",
        how=_HOW,
        source=_SOURCE,
        cost=_COST,
    ),
)
