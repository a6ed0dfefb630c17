"""From seconds a step to a price with its interval. Plain numbers in, plain numbers out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LEVEL = 0.95


@dataclass(frozen=True)
class Ratio:
    """How many times as long something takes: the estimate, and its interval at 95 % confidence."""

    ratio: float
    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Whether the value is in the interval."""
        return self.low <= value <= self.high


def compare_pair(with_it: Sequence[float], without: Sequence[float]) -> float | None:
    """How many times as long the steps of one run took as the same steps of another; None for no steps.

    The median over the steps: a burst of other work on the machine, which meets some steps of one of the
    two, moves it little.
    """
    import numpy as np

    count = min(len(with_it), len(without))
    if count == 0:
        return None
    ratios = np.log(np.asarray(with_it[:count])) - np.log(np.asarray(without[:count]))
    return float(np.exp(np.median(ratios)))


def average_pairs(ratios: Sequence[float]) -> Ratio | None:
    """The geometric mean of the pairs' ratios, with Student's interval of their logarithms.

    None for fewer than two pairs: nothing is known of how they vary.
    """
    import numpy as np
    from scipy import stats

    if len(ratios) < 2:
        return None
    logs = np.log(np.asarray(ratios, dtype=float))
    mean, error = float(logs.mean()), float(stats.sem(logs))
    half = float(stats.t.ppf((1 + LEVEL) / 2, len(logs) - 1)) * error
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half))
