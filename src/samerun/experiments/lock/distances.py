"""How far results are from one another, as relative distances."""

from __future__ import annotations

import math
from collections.abc import Mapping


def measure_losses(
    locked: Mapping[int, float], losses: Mapping[int, float], limit: int | None = None
) -> float:
    """The largest distance at these steps, of those below `limit`; infinity where one has no loss."""
    steps = [step for step in locked if limit is None or step < limit]
    return max((measure(locked[step], losses.get(step)) for step in steps), default=0.0)


def measure(one: float | None, other: float | None) -> float:
    """|one - other| / max(|one|, |other|), 0 to 2; infinity where that is no number."""
    if one is None or other is None:
        return math.inf
    if one == other or (math.isnan(one) and math.isnan(other)):
        return 0.0
    distance = abs(one - other) / max(abs(one), abs(other))
    return distance if math.isfinite(distance) else math.inf
