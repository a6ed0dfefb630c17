"""The taps of interpolation along one dimension, as torch's forward passes compute them.

https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/UpSample.h
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

Taps = tuple[torch.Tensor, torch.Tensor, torch.Tensor]  # outputs, inputs: int64[taps]; weights: float[taps]


@dataclass(frozen=True)
class Resampling:
    """How many inputs become how many outputs, and how a place is computed."""

    inputs: int
    outputs: int
    align_corners: bool
    factor: float | None  # the scale_factor that the user gave, if it is to be used
    dtype: torch.dtype  # in which torch computes places and weights: float32 or float64
    copied: bool = False  # one output for each input, and torch copies, whatever the factor

    def linear(self) -> Taps:
        """Two taps for each output."""
        if self.copied:
            return self._taps(
                torch.arange(self.outputs).view(-1, 1), torch.ones(self.outputs, 1, dtype=self.dtype)
            )
        at = self._places(cubic=False)
        low = at.long().clamp(max=self.inputs - 1)
        high = (low + 1).clamp(max=self.inputs - 1)
        part = (at - low).clamp(0, 1)
        return self._taps(torch.stack([low, high], 1), torch.stack([1 - part, part], 1))

    def cubic(self) -> Taps:
        """Four taps for each output, of Keys' kernel with a = -0.75; those beyond the border lie on it."""
        at = self._places(cubic=True)
        low = at.floor()
        t = at - low
        weights = torch.stack(
            [_weigh_outer(t + 1), _weigh_inner(t), _weigh_inner(1 - t), _weigh_outer(2 - t)], 1
        )
        reads = low.long()[:, None] + torch.arange(-1, 3)
        return self._taps(reads.clamp(0, self.inputs - 1), weights)

    def antialiased(self, width: int, kernel: Callable[[torch.Tensor], torch.Tensor]) -> Taps:
        """As many taps as a kernel of this width covers, stretched by the scale; they add up to 1."""
        scale = self._scale()
        support = width * 0.5 * scale if scale >= 1 else width * 0.5
        stretch = 1 / scale if scale >= 1 else 1.0
        centers = (scale * (torch.arange(self.outputs, dtype=torch.float64) + 0.5)).to(self.dtype)
        first = (centers - support + 0.5).long().clamp(min=0)
        end = (centers + support + 0.5).long().clamp(max=self.inputs)
        longest = max(math.ceil(support) * 2 + 1, 1)
        reads = first[:, None] + torch.arange(longest)
        inside = reads < end[:, None]
        weights = kernel(((reads - centers.double()[:, None] + 0.5) * stretch).abs()) * inside
        sums = weights.sum(1, keepdim=True)
        weights = torch.where(sums != 0, weights / sums, weights).to(self.dtype)
        outputs = torch.arange(self.outputs)[:, None].expand_as(reads)
        return outputs[inside], reads[inside], weights[inside]

    def _scale(self) -> float:
        """Inputs for one output: area_pixel_compute_scale, rounded as its dtype rounds."""
        if self.align_corners:
            pair = (self.inputs - 1, self.outputs - 1) if self.outputs > 1 else (0, 1)
        elif self.factor is not None and self.factor > 0:
            return float(torch.tensor(1 / self.factor, dtype=torch.float64).to(self.dtype))
        else:
            pair = (self.inputs, self.outputs)
        return float(self._float(pair[0]) / self._float(pair[1]))

    def _places(self, cubic: bool) -> torch.Tensor:
        """Where each output lies among the inputs: area_pixel_compute_source_index."""
        # Multiplied and added with one rounding, as the compilers of torch's kernels do it.
        o = torch.arange(self.outputs, dtype=torch.float64)
        at = self._scale() * o if self.align_corners else self._scale() * (o + 0.5) - 0.5
        at = at.to(self.dtype)
        return at if cubic or self.align_corners else at.clamp(min=0)

    def _taps(self, reads: torch.Tensor, weights: torch.Tensor) -> Taps:
        outputs = torch.arange(self.outputs)[:, None].expand_as(reads)
        return outputs.reshape(-1), reads.reshape(-1), weights.reshape(-1)

    def _float(self, value: float) -> torch.Tensor:
        return torch.tensor(value, dtype=self.dtype)


def _weigh_inner(x: torch.Tensor) -> torch.Tensor:
    return ((-0.75 + 2) * x - (-0.75 + 3)) * x * x + 1


def _weigh_outer(x: torch.Tensor) -> torch.Tensor:
    return ((-0.75 * x - 5 * -0.75) * x + 8 * -0.75) * x - 4 * -0.75
