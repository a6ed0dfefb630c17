"""How large the difference between two runs is."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping

from samerun.comparing.growth import measure_growth
from samerun.experiments.vary.result import Size
from samerun.runs.schema import only_helps
from samerun.runs.store import Run

Losses = Mapping[int, tuple[float, ...]]


def measure_size(base: Run, run: Run) -> Size:
    """Of the losses, and of the weights where their values were sampled in both."""
    measured = measure_losses(_read_losses(base), _read_losses(run))
    grown = measure_growth(base, run)
    ulps = [item.largest_ulps for item in grown.distances if item.largest_ulps] if grown else []
    return Size(
        measured.loss_step,
        measured.loss_ulps,
        measured.final_losses,
        ulps[0] if ulps else None,
    )


def measure_losses(one: Losses, other: Losses) -> Size:
    """The first loss that differs, and the last losses of the last step that both have."""
    shared = sorted(one.keys() & other.keys())
    if not shared:
        return Size()
    finals = one[shared[-1]][-1], other[shared[-1]][-1]
    for step in shared:
        for a, b in zip(one[step], other[step], strict=False):
            if a != b and not (math.isnan(a) and math.isnan(b)):
                return Size(step, count_ulps(a, b), finals)
    return Size(final_losses=finals)


def count_ulps(one: float, other: float) -> float | None:
    """How many float32 numbers lie between two; None when one of them is none."""
    if not (math.isfinite(one) and math.isfinite(other)):
        return None
    return float(abs(_compute_ordinal(one) - _compute_ordinal(other)))


def _compute_ordinal(value: float) -> int:
    """The place of the nearest float32 among all of them; 0.0 and -0.0 share one."""
    try:
        bits: int = struct.unpack("<i", struct.pack("<f", value))[0]
    except OverflowError:  # beyond float32
        return 0x7F800000 if value > 0 else -0x7F800000
    return bits if bits >= 0 else -(bits & 0x7FFFFFFF)


def _read_losses(run: Run) -> Losses:
    for stem, trace in sorted(run.traces().items()):
        if not only_helps(stem) and (losses := trace.losses()):
            return losses
    return {}
