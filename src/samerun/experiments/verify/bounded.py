"""How far the results of a run are from locked ones, and whether that is within the bounds."""

from __future__ import annotations

from samerun.experiments.lock.distances import measure, measure_losses
from samerun.experiments.lock.observed import Observed
from samerun.experiments.verify.result import Distance
from samerun.runs.lock.content import Environment


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
