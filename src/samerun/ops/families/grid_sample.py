"""Backward passes of grid_sample: nearest, linear and cubic, in two and three dimensions.

Each place samples a few cells of each dimension with weights whose product counts. The gradient of the
grid has no two writers; that of the input has as many as places sampled a cell: these are sorted together
and added.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch

from samerun.ops.engines.bands import convert_to_sum_dtype
from samerun.ops.engines.grid_samples import Tap, add_to_cells, correlate, find_samples
from samerun.ops.example_inputs import draw_normal
from samerun.ops.implementation import Implementation


def grid_sampler_backward(
    grad_output: torch.Tensor,
    input: torch.Tensor,
    grid: torch.Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[torch.Tensor | None, torch.Tensor]:
    """The gradients of input [N, C, *cells] and grid [N, *places, dims], from grad_output [N, C, *places]."""
    count, channels, *sizes = input.shape
    dims = len(sizes)
    places = convert_to_sum_dtype(grid).reshape(count, -1, dims)
    per_dim = [
        find_samples(places[..., dims - 1 - dim], size, interpolation_mode, padding_mode, align_corners)
        for dim, size in enumerate(sizes)
    ]
    grad = convert_to_sum_dtype(grad_output).reshape(count, channels, -1)
    cells = input.shape[2:].numel()
    values = convert_to_sum_dtype(input).reshape(count, channels, cells)
    taps = [Tap(taken, sizes) for taken in itertools.product(*per_dim)]
    grad_input = None
    if output_mask[0]:
        grad_input = add_to_cells(grad, taps, cells).to(input.dtype).view(input.shape)
    grad_grid = torch.zeros_like(places)
    if interpolation_mode != _NEAREST:
        for tap, seen in zip(taps, correlate(values, grad, taps), strict=True):
            for dim in range(dims):
                grad_grid[..., dims - 1 - dim] += tap.slope(dim) * seen
    return grad_input, grad_grid.to(grid.dtype).view(grid.shape)


def cudnn_grid_sampler_backward(
    self: torch.Tensor, grid: torch.Tensor, grad_output: torch.Tensor
) -> tuple[torch.Tensor | None, torch.Tensor]:
    """What cuDNN computes: bilinear, zeros outside, corners aligned."""
    return grid_sampler_backward(grad_output, self, grid, _LINEAR, 0, True, (True, True))


_LINEAR, _NEAREST = 0, 1


def _make_example(device: torch.device, dims: int) -> tuple[Any, ...]:
    cells = {2: (40, 40), 3: (10, 16, 16)}[dims]
    places = {2: (48, 48), 3: (12, 20, 20)}[dims]
    grid = draw_normal((2, *places, dims), device) / 2
    return (
        draw_normal((2, 16, *places), device),
        draw_normal((2, 16, *cells), device),
        grid,
        0,
        0,
        False,
        [True, True],
    )


def _make_cudnn_example(device: torch.device) -> tuple[Any, ...]:
    grad, self, grid, *_ = _make_example(device, 2)
    return self, grid, grad


_WHY = "places add to the cells that they sampled, atomically"
_HOW = "stable sort of the samples by cell, then a balanced tree over the gradients of each"
_SOURCE = (
    "https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/GridSampler.h; "
    "samerun.ops.engines.segments"
)
_COST = "a sort of as many keys as places are sampled; without Triton also grad_output that often in memory"

IMPLEMENTATIONS = (
    Implementation(
        name="grid_sampler_2d_backward",
        kernels={"grid_sampler_2d_backward": grid_sampler_backward},
        example=lambda device: _make_example(device, 2),
        why=_WHY,
        how=_HOW,
        source=_SOURCE,
        cost=_COST,
        alerts=("grid_sampler_2d_backward_cuda",),
    ),
    Implementation(
        name="grid_sampler_3d_backward",
        kernels={"grid_sampler_3d_backward": grid_sampler_backward},
        example=lambda device: _make_example(device, 3),
        why=_WHY,
        how=_HOW,
        source=_SOURCE,
        cost=_COST,
        alerts=("grid_sampler_3d_backward_cuda",),
    ),
    Implementation(
        name="cudnn_grid_sampler_backward",
        kernels={"cudnn_grid_sampler_backward": cudnn_grid_sampler_backward},
        example=_make_cudnn_example,
        why=_WHY,
        how=_HOW,
        source=_SOURCE,
        cost=_COST,
        alerts=("cudnn_grid_sampler_backward",),
    ),
)
