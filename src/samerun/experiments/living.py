"""Whether a training still trains: runs that agree since nothing moves in them any more prove nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from samerun.comparing.comparison import Comparison

Losses = Mapping[int, tuple[float, ...]]  # by step
_FEW = 3  # losses; fewer can be equal by chance


def list_losses(comparisons: Sequence[Comparison]) -> tuple[Losses, ...]:
    """Those of every run that was compared, in the order of the runs."""
    return (comparisons[0].losses[0], *(item.losses[1] for item in comparisons))


def require_living(comparison: Comparison, plain: Sequence[Losses]) -> Comparison:
    """The comparison; unknown in the place of `same` where the runs have lost what `plain` ones have."""
    if comparison.verdict != "same":
        return comparison
    for tried in comparison.losses:
        reason = explain_lifeless(tried, plain)
        if reason is not None:
            return replace(comparison, verdict="unknown", reason=reason)
    return comparison


def explain_lifeless(tried: Losses, plain: Sequence[Losses]) -> str | None:
    """How the losses of a run show that it no longer trains as the `plain` ones do; None where they do not.

    They are not finite at a step where those of a plain run are, or do not move where those of one do: what
    is read from unwritten memory can spoil plain runs as well, and a control must not make that the rule.
    """
    if not plain:
        return None
    steps = [step for step in sorted(tried) if all(step in losses for losses in plain)]
    for step in steps:
        if not _is_finite(tried[step]) and any(_is_finite(losses[step]) for losses in plain):
            value = next(value for value in tried[step] if not math.isfinite(value))
            return f"the loss is {value} at step {step}, not in a run left alone: that proves nothing"
    moved = any(len({losses[step] for step in steps}) > 1 for losses in plain)
    if len(steps) >= _FEW and moved and len({tried[step] for step in steps}) == 1:
        return "the loss no longer moves, and in a run left alone it does: that proves nothing"
    return None


def _is_finite(values: Sequence[float]) -> bool:
    return all(map(math.isfinite, values))
