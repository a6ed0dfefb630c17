"""max_unpool2d and max_unpool3d: of several values for one place, the last, as a loop would leave it."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import torch

from samerun.ops.argument_checks import name_dtype
from samerun.ops.engines.formats import format_like
from samerun.ops.example_inputs import draw_integers, draw_normal
from samerun.ops.implementation import Implementation


def max_unpool2d(self: torch.Tensor, indices: torch.Tensor, output_size: Sequence[int]) -> torch.Tensor:
    """[N?, C, *output_size] with the values of self at the places `indices` of their plane, 0 elsewhere."""
    _check(self, indices, output_size, 2)
    placed = _place(self, indices, output_size)
    return format_like(placed, self) if self.device.type == "cpu" else placed


def max_unpool3d(
    self: torch.Tensor,
    indices: torch.Tensor,
    output_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
) -> torch.Tensor:
    """As max_unpool2d, with one dimension more; torch only checks stride and padding."""
    _check(self, indices, output_size, 3)
    for name, given in (("stride", stride), ("padding", padding)):
        if len(given) != 3:
            raise RuntimeError(
                f"There should be exactly three elements (depth, height, width) in {name}, "
                f"but got: {len(given)} elements."
            )
    if any(step <= 0 for step in stride):
        raise RuntimeError(f"strides should be greater than zero, but got stride: {list(stride)}")
    return _place(self, indices, output_size)


def _place(self: torch.Tensor, indices: torch.Tensor, output_size: Sequence[int]) -> torch.Tensor:
    dims = len(output_size)
    lead = self.shape[:-dims]
    cells = math.prod(output_size)
    if not self.numel() or not cells:
        return self.new_zeros((*lead, *output_size))
    planes, places = self.reshape(*lead, -1), indices.reshape(*lead, -1)
    if self.device.type == "cpu":
        low, high = places.aminmax()
        if low < 0 or high >= cells:
            raise RuntimeError(
                f"Found an invalid max index: {int(low if low < 0 else high)} "
                f"(output volumes are of size {'x'.join(str(size) for size in output_size)})"
            )
    placed = self.new_zeros((*lead, cells))
    if self.device.type == "cpu":
        placed.scatter_(-1, places, planes)  # a loop over each plane
    else:
        place_last(placed, places, planes)
    return placed.view(*lead, *output_size)


def place_last(placed: torch.Tensor, places: torch.Tensor, values: torch.Tensor) -> None:
    """Write values [..., n] to the places [..., n] of their row; of several for one place, the last.

    It is the one of the highest number: a maximum of integers, which has no order.
    """
    number = torch.arange(values.shape[-1], device=values.device).expand_as(places)
    last = torch.full(placed.shape, -1, dtype=torch.int64, device=values.device)
    last.scatter_reduce_(-1, places, number, "amax")
    placed.copy_(values.gather(-1, last.clamp(min=0)).masked_fill_(last < 0, 0))


def _check(self: torch.Tensor, indices: torch.Tensor, output_size: Sequence[int], dims: int) -> None:
    """Refuse what torch refuses, in its words."""
    if indices.dtype != torch.int64:
        got = f" but got: {name_dtype(indices)}" if dims == 2 else ""
        raise RuntimeError(f"elements in indices should be type int64{got}")
    if self.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Input to max_unpooling{dims}d should be a {dims + 1}d or {dims + 2}d Tensor, "
            f"but got a tensor with {self.dim()} dimensions."
        )
    if len(output_size) != dims:
        words = {2: "two elements (height, width)", 3: "three elements (depth, height, width)"}[dims]
        raise RuntimeError(
            f"There should be exactly {words} in output_size, but got {len(output_size)} elements."
        )
    if self.shape != indices.shape:
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor "
            f"({list(self.shape)}) but got indices tensor with shape: {list(indices.shape)}"
        )
    for dim, size in enumerate(self.shape[1:], start=1):
        if size == 0:
            raise RuntimeError(
                f"max_unpooling{dims}d_forward_out_{self.device.type}(): Expected input to have non-zero "
                f"size for non-batch dimensions, but got {list(self.shape)} with dimension {dim} being empty."
            )


def _make_example(device: torch.device, dims: int) -> tuple[object, ...]:
    shape, output_size = {2: ((8, 32, 28, 28), [30, 30]), 3: ((4, 16, 8, 14, 14), [9, 15, 15])}[dims]
    places = draw_integers(math.prod(output_size), shape, device)
    geometry = ([1, 1, 1], [0, 0, 0]) if dims == 3 else ()
    return draw_normal(shape, device), places, output_size, *geometry


_WHY = "of several values for one place, whichever is stored last"
_HOW = "on the CPU a loop over each plane; else the number of the last value for each place, and a gather"
_SOURCE = "torch's loop on the CPU, in which the last value stays"
_COST = "that of torch's own on the CPU; on CUDA two passes over the output more"

IMPLEMENTATIONS = (
    Implementation(
        name="max_unpool2d",
        kernels={"max_unpool2d": max_unpool2d},
        example=functools.partial(_make_example, dims=2),
        why=_WHY,
        how=_HOW,
        source=_SOURCE,
        cost=_COST,
        devices=("CPU", "CUDA"),
        alerts=("max_unpooling2d_forward_out",),
    ),
    Implementation(
        name="max_unpool3d",
        kernels={"max_unpool3d": max_unpool3d},
        example=functools.partial(_make_example, dims=3),
        why=_WHY,
        how=_HOW,
        source=_SOURCE,
        cost=_COST,
        devices=("CPU", "CUDA"),
        alerts=("max_unpooling3d_forward_out",),
    ),
)
