"""How far the results of a run are from locked ones, and whether that is within the bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping

from samerun.experiments.lock.observed import Observed
from samerun.experiments.verify.result import Distance
from samerun.runs.lock import Environment


def measure_distances(
    locked: Environment, observed: Observed, limit: int | None = None
) -> tuple[Distance, ...]:
    """Of the losses at the locked steps the largest, and of each metric with a bound; () without bounds."""
    if locked.bounds is None:
        return ()
    losses = {step.at: step.loss for step in locked.steps if step.loss is not None}
    found = [Distance("loss", measure_losses(losses, observed.leaves.losses, limit), locked.bounds.loss)]
    if limit is None:
        found += [
            Distance(name, measure(locked.result.metrics.get(name), observed.result.metrics.get(name)), bound)
            for name, bound in sorted(locked.bounds.metrics.items())
        ]
    return tuple(found)


def measure_losses(
    locked: Mapping[int, float], losses: Mapping[int, float], limit: int | None = None
) -> float:
    """The largest relative distance at these steps; infinity where one has a loss and the other none."""
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
