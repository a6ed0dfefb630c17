"""Separable linear maps with few taps, applied the other way round: every input gathers from its outputs.

A pooling or resampling forward pass reads a few inputs for each output, dimension by dimension. torch's
backward pass scatters: each output adds to its inputs, in whatever order. Here each input reads the
outputs that it fed, in ascending order: no two writes meet. The work is that of the scatter: as many
reads as there are taps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch


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


def band(
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


def gather(t: torch.Tensor, bands: Sequence[Band]) -> torch.Tensor:
    """The transposed map along the last dimensions of t, one band each, the last dimension first."""
    for back, one in enumerate(reversed(bands), start=1):
        t = one.gather(t, t.dim() - back)
    return t


def accumulated_in(t: torch.Tensor) -> torch.Tensor:
    """t in the dtype in which its values are added: float32 for the narrower ones."""
    return t.float() if t.dtype in (torch.float16, torch.bfloat16) else t
