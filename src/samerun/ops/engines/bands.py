"""Separable linear maps with few taps, applied the other way round: every input gathers from its outputs.

A pooling or resampling forward pass reads a few inputs for each output, dimension by dimension. torch's
backward pass scatters: each output adds to its inputs, in whatever order. Here each input reads the
outputs that it fed, in ascending order: no two writes meet. The work is that of the scatter: as many
reads as there are taps.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from samerun.ops.engines.triton_probe import works_on

Cells = Sequence[torch.Tensor] | None  # float[outputs] for each dimension, in the dtype of sum_dtype


@dataclass(frozen=True)
class Tap:
    """For each input of one dimension, one of the outputs that it fed."""

    output: torch.Tensor  # int64[inputs]
    none: torch.Tensor | None  # bool[inputs]: it fed fewer outputs than this; None: every input fed one
    weight: torch.Tensor | None  # float[inputs]; None: 1


@dataclass(frozen=True)
class Band:
    """One dimension of a separable map, by its taps in ascending order of outputs."""

    inputs: int
    taps: tuple[Tap, ...]

    @functools.cached_property
    def table(self) -> torch.Tensor:
        """int32[taps, inputs]: the output of each tap, -1 where there is none. There must be taps."""
        rows = [one.output if one.none is None else one.output.masked_fill(one.none, -1) for one in self.taps]
        return _stack_rows(rows).int()

    @functools.cached_property
    def weights(self) -> torch.Tensor | None:
        """float[taps, inputs], 0 where there is no tap; None: every weight is 1."""
        rows = [one.weight for one in self.taps if one.weight is not None]
        return _stack_rows(rows) if rows else None

    def gather(self, t: torch.Tensor, dim: int) -> torch.Tensor:
        """The transposed map along a dimension of t: from [..., outputs, ...] to [..., inputs, ...]."""
        shape = [1] * t.dim()
        shape[dim] = self.inputs
        total: torch.Tensor | None = None
        for tap in self.taps:
            read = t.index_select(dim, tap.output)
            if tap.none is not None:  # not a weight of 0, which times infinity is not 0
                read.masked_fill_(tap.none.view(shape), 0)
            if tap.weight is not None:
                read.mul_(tap.weight.view(shape))
            total = read if total is None else total.add_(read)
        if total is None:
            shape = list(t.shape)
            shape[dim] = self.inputs
            return t.new_zeros(shape)
        return total


def build_band(
    outputs: torch.Tensor,
    inputs: torch.Tensor,
    size: int,
    device: torch.device,
    weights: torch.Tensor | None = None,
) -> Band:
    """The band of the pairs (output, input) of `size` inputs: int64[pairs] on the CPU, outputs ascending."""
    with torch.inference_mode(False):  # it is kept, and serves calls outside of it too
        order = torch.argsort(inputs, stable=True)
        counts = torch.bincount(inputs, minlength=size)
        starts = counts.cumsum(0) - counts
        taps = []
        for rank in range(int(counts.max()) if size else 0):
            none = counts <= rank
            pair = order[(starts + rank).clamp(max=order.numel() - 1)]
            weight = None if weights is None else weights[pair].masked_fill(none, 0)
            taps.append(
                Tap(
                    outputs[pair].masked_fill(none, 0).to(device),
                    none.to(device) if bool(none.any()) else None,
                    None if weight is None else weight.to(device),
                )
            )
        return Band(size, tuple(taps))


def _stack_rows(rows: list[torch.Tensor]) -> torch.Tensor:
    with torch.inference_mode(False):
        return torch.stack(rows)


def gather(t: torch.Tensor, bands: Sequence[Band], cells: Cells = None) -> torch.Tensor:
    """The transposed map of t / cells along the last dimensions of t, one band each: t's dtype.

    Torch's operations go through the last dimension first.
    """
    if works_on(t.device):
        from samerun.ops.engines import bands_triton

        return bands_triton.gather(t, bands, cells)
    total = divide_by_cells(t, cells, t.dim() - len(bands))
    for back, one in enumerate(reversed(bands), start=1):
        total = one.gather(total, total.dim() - back)
    return total.to(t.dtype)


def gather_named(t: torch.Tensor, bands: Sequence[Band], names: torch.Tensor) -> torch.Tensor:
    """The same with weights of 1, of the values alone whose name, int64 like t, is the input's place."""
    if works_on(t.device):
        from samerun.ops.engines import bands_triton

        return bands_triton.gather(t, bands, names=names)
    inputs = [one.inputs for one in bands]
    first = t.dim() - len(bands)
    place = torch.arange(math.prod(inputs), device=t.device).view(inputs)
    grad = convert_to_sum_dtype(t)
    total = grad.new_zeros((*t.shape[:first], *inputs))
    for taps in itertools.product(*(one.taps for one in bands)):
        named, value = names, grad
        for back, tap in enumerate(reversed(taps), start=1):
            dim = t.dim() - back
            named, value = named.index_select(dim, tap.output), value.index_select(dim, tap.output)
            if tap.none is not None:
                named = named.masked_fill_(tap.none.view([-1] + [1] * (back - 1)), -1)
        total += value.masked_fill_(named != place, 0)
    return total.to(t.dtype)


def divide_by_cells(t: torch.Tensor, cells: Cells, first: int) -> torch.Tensor:
    """t in the dtype in which it is added up, divided by the product of the cells of its dimensions."""
    t = convert_to_sum_dtype(t)
    if cells is None:
        return t
    product = t.new_ones(())
    for dim, one in enumerate(cells, start=first):
        product = product * one.view([-1 if at == dim else 1 for at in range(t.dim())])
    return t / product


def sum_dtype(t: torch.Tensor) -> torch.dtype:
    """The dtype in which values of t are added: float32 for the narrower ones."""
    return torch.float32 if t.dtype in (torch.float16, torch.bfloat16) else t.dtype


def convert_to_sum_dtype(t: torch.Tensor) -> torch.Tensor:
    """t in the dtype in which its values are added."""
    return t.to(sum_dtype(t))
