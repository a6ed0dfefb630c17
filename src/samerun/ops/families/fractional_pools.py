"""Backward passes of the fractional max pools, whose windows are known by their maxima alone."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch

from samerun.ops.engines import segments
from samerun.ops.engines.bands import convert_to_sum_dtype
from samerun.ops.example_inputs import draw_normal
from samerun.ops.implementation import Implementation


def backward(
    dims: int,
    grad_output: torch.Tensor,
    self: torch.Tensor,
    kernel_size: Sequence[int],
    output_size: Sequence[int],
    indices: torch.Tensor,
) -> torch.Tensor:
    """The gradient of self [N?, C, *dims], from grad_output and the places of the maxima."""
    if list(grad_output.shape[-dims:]) != list(output_size):
        raise RuntimeError(
            f"fractional_max_pool{dims}d_backward(): gradOutput sizes unexpected: "
            f"{list(grad_output.shape[-dims:])}, not {list(output_size)}"
        )
    cells = self.shape[-dims:].numel()
    planes = self.shape[:-dims].numel()
    if not grad_output.numel():
        return torch.zeros_like(self, memory_format=torch.contiguous_format)
    plane = torch.arange(planes, device=self.device).view(-1, 1) * cells
    keys = indices.reshape(planes, -1) + plane
    values = convert_to_sum_dtype(grad_output).reshape(-1)
    sums = segments.add(keys.reshape(-1), values, planes * cells)
    return sums.to(self.dtype).view(self.shape)


def _make_example(device: torch.device, dims: int) -> tuple[object, ...]:
    self = draw_normal((4, 16, 8, 30, 30)[: 2 + dims] if dims == 3 else (4, 16, 40, 40), device)
    output_size = [5, 20, 20] if dims == 3 else [30, 30]
    kernel_size = [3] * dims
    samples = torch.full((4, 16, dims), 0.3, device=device)
    pool = getattr(torch.ops.aten, f"fractional_max_pool{dims}d")
    output, indices = pool(self, kernel_size, output_size, samples)
    return draw_normal(tuple(output.shape), device), self, kernel_size, output_size, indices


def _make_implementation(dims: int, *alerts: str) -> Implementation:
    name = f"fractional_max_pool{dims}d_backward"
    return Implementation(
        name=name,
        kernels={name: functools.partial(backward, dims)},
        example=functools.partial(_make_example, dims=dims),
        why="windows that overlap add to the same maximum, atomically",
        how="stable sort by place, then a balanced tree over the gradients of each",
        source="samerun.ops.engines.segments",
        cost="that of a sort",
        alerts=alerts,
    )


IMPLEMENTATIONS = (
    _make_implementation(2, "fractional_max_pool2d_backward_cuda"),
    _make_implementation(3, "fractional_max_pool3d_backward_cuda", "fractional_max_pool3d_backward_out_cuda"),
)
