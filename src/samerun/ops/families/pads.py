"""Backward passes of reflection and replication padding: borders are folded back, one dimension at a time."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch

from samerun.ops.engines.bands import convert_to_sum_dtype
from samerun.ops.engines.formats import format_like
from samerun.ops.example_inputs import draw_normal
from samerun.ops.implementation import Implementation

Fold = Callable[[torch.Tensor, torch.Tensor, int, int, int], None]


def _pad_backward(
    fold: Fold, dims: int, grad_output: torch.Tensor, self: torch.Tensor, padding: Sequence[int]
) -> torch.Tensor:
    """The gradient of self, from grad_output [N?, C, *dims]; padding as F.pad has it, last dim first."""
    if list(grad_output.shape) != _compute_padded(self, padding):
        raise RuntimeError(
            f"grad_output has the shape {list(grad_output.shape)}; padding makes "
            f"{_compute_padded(self, padding)}"
        )
    grad = convert_to_sum_dtype(grad_output)
    for back in range(dims):
        before, after = padding[2 * back], padding[2 * back + 1]
        grad = _fold(fold, grad, grad.dim() - 1 - back, before, after)
    return format_like(grad.to(self.dtype), self)


def _fold(fold: Fold, grad: torch.Tensor, dim: int, before: int, after: int) -> torch.Tensor:
    """One dimension without its borders, added where they came from; a negative pad cut cells off."""
    size = grad.shape[dim] - before - after
    core = grad.narrow(dim, max(before, 0), grad.shape[dim] - max(before, 0) - max(after, 0))
    if before < 0 or after < 0:
        kept = core
        core = grad.new_zeros([size if at == dim else n for at, n in enumerate(grad.shape)])
        core.narrow(dim, max(-before, 0), kept.shape[dim]).copy_(kept)
    else:
        core = core.clone()
    fold(core, grad, dim, before, after)
    return core


def _fold_reflected(core: torch.Tensor, grad: torch.Tensor, dim: int, before: int, after: int) -> None:
    size, end = core.shape[dim], grad.shape[dim]
    if before > 0:
        core.narrow(dim, 1, before).add_(grad.narrow(dim, 0, before).flip(dim))
    if after > 0:
        core.narrow(dim, size - 1 - after, after).add_(grad.narrow(dim, end - after, after).flip(dim))


def _fold_replicated(core: torch.Tensor, grad: torch.Tensor, dim: int, before: int, after: int) -> None:
    """The strip of a border is added up by its neighbour, from the inside out.

    Not by torch.sum, whose order on the CPU may depend on the number of threads.
    """
    size, end = core.shape[dim], grad.shape[dim]
    if before > 0:
        core.narrow(dim, 0, 1).add_(_strip(grad.narrow(dim, 0, before), dim))
    if after > 0:
        core.narrow(dim, size - 1, 1).add_(_strip(grad.narrow(dim, end - after, after), dim))


def _strip(t: torch.Tensor, dim: int) -> torch.Tensor:
    """The sum along a dimension, as a balanced tree."""
    while t.shape[dim] > 1:
        half = t.shape[dim] // 2
        pairs = t.narrow(dim, 0, half) + t.narrow(dim, half, half)
        t = torch.cat([pairs, t.narrow(dim, 2 * half, 1)], dim) if t.shape[dim] % 2 else pairs
    return t


def _compute_padded(self: torch.Tensor, padding: Sequence[int]) -> list[int]:
    sizes = list(self.shape)
    for back in range(len(padding) // 2):
        sizes[-1 - back] += padding[2 * back] + padding[2 * back + 1]
    return sizes


_SHAPES = {1: (16, 64, 500), 2: (8, 32, 60, 60), 3: (2, 16, 20, 24, 24)}
_SOURCE = "the transposed map of the forward pass, separable by dimensions"
_COST = "reads each gradient once, and the borders once more for each dimension"


def _make_implementation(
    kind: str, fold: Fold, dims: int, pads: tuple[int, int], *alerts: str
) -> Implementation:
    def example(device: torch.device) -> tuple[object, ...]:
        self = draw_normal(_SHAPES[dims], device)
        padding = [*pads] * dims
        return draw_normal(tuple(_compute_padded(self, padding)), device, 2), self, padding

    name = f"{kind}_pad{dims}d_backward"
    return Implementation(
        name=name,
        kernels={name: functools.partial(_pad_backward, fold, dims)},
        example=example,
        why="cells of the border add to the cell that they are copies of, atomically",
        how="the borders of each dimension are added to their cells by slices, one after the other",
        source=_SOURCE,
        cost=_COST,
        alerts=alerts,
    )


IMPLEMENTATIONS = (
    _make_implementation("reflection", _fold_reflected, 1, (7, 9), "reflection_pad1d_backward_out_cuda"),
    _make_implementation("reflection", _fold_reflected, 3, (3, 4), "reflection_pad3d_backward_out_cuda"),
    _make_implementation("replication", _fold_replicated, 1, (30, 31), "replication_pad1d_backward_cuda"),
    _make_implementation(
        "replication",
        _fold_replicated,
        2,
        (8, 9),
        "replication_pad2d_backward_cuda",
        "replication_pad2d_backward_out_cuda",
    ),
    _make_implementation(
        "replication",
        _fold_replicated,
        3,
        (4, 5),
        "replication_pad3d_backward_cuda",
        "replication_pad3d_backward_out_cuda",
    ),
)
