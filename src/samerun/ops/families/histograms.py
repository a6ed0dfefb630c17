"""histc and bincount: how many values, or how much weight, each bin has."""

from __future__ import annotations

from typing import Any

import torch

from samerun.ops.engines import segments
from samerun.ops.engines.bands import convert_to_sum_dtype
from samerun.ops.engines.exact_division import divide
from samerun.ops.example_inputs import draw_integers, draw_normal
from samerun.ops.implementation import Implementation
from samerun.ops.torch_hooks import original_kernels


def histc(self: torch.Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> torch.Tensor:
    """Counts [bins] of the values from min to max, or between their extremes when these are equal."""
    if not self.is_floating_point():
        result: torch.Tensor = original_kernels.call("histc", self.device, self, bins, min, max)
        return result
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    low, high = _find_range(self, min, max)
    # As torch computes a bin: in float32 for the narrower types, and in this order.
    values = self.reshape(-1)
    wide = convert_to_sum_dtype(values)
    at = divide((wide - low) * bins, high - low).long().clamp_(max=bins - 1)
    inside = (values >= low) & (values <= high)  # nor is what is no number
    return count_values(torch.where(inside, at, bins), bins + 1)[:bins].to(self.dtype)


def count_values(at: torch.Tensor, bins: int) -> torch.Tensor:
    """How often each of 0 … bins - 1 is in int64[n]: integers, whose sum has no order."""
    result: torch.Tensor = original_kernels.call("bincount", at.device, at, None, bins)
    return result


def _find_range(self: torch.Tensor, min: Any, max: Any) -> tuple[float, float]:
    low, high = float(min), float(max)
    if low == high and self.numel():
        low, high = (float(extreme) for extreme in self.aminmax())
    if low == high:
        low, high = low - 1, high + 1
    if not (abs(low) < float("inf") and abs(high) < float("inf")):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    return low, high


def bincount(self: torch.Tensor, weights: torch.Tensor | None = None, minlength: int = 0) -> torch.Tensor:
    """The total weight of each of 0 … max(self), float64 unless the weights are float32."""
    if weights is None or (self.dim() == 1 and not self.numel()):
        result: torch.Tensor = original_kernels.call("bincount", self.device, self, None, minlength)
        return result
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    keys = self.long()
    low, high = (int(extreme) for extreme in keys.aminmax()) if keys.numel() else (-1, -1)
    if low < 0 or self.dim() != 1 or self.is_floating_point():
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights.shape != self.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    wide = weights if weights.dtype == torch.float32 else weights.double()
    return segments.add(keys, wide, max(high + 1, minlength))


IMPLEMENTATIONS = (
    Implementation(
        name="histc",
        kernels={"histc": histc},
        example=lambda device: (draw_normal((1 << 18,), device), 100, -3, 3),
        why="counts are added atomically, as floating-point numbers",
        how="counts are added as integers",
        source="https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/cuda/SummaryOps.cu",
        cost="two passes more than torch's own",
        alerts=("_histc_cuda with floating point input", "_histc_cuda"),
    ),
    Implementation(
        name="bincount",
        kernels={"bincount": bincount},
        example=lambda device: (draw_integers(300, (1 << 18,), device), draw_normal((1 << 18,), device)),
        why="weights are added to their bins atomically",
        how="stable sort by bin, then a balanced tree over each bin's weights",
        source="samerun.ops.engines.segments",
        cost="that of a sort",
        alerts=("_bincount_cuda",),
    ),
)
