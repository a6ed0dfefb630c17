"""From seconds a step to a price with its interval. Plain numbers in, plain numbers out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LEVEL = 0.95
_NARROW = 0.02  # of a price, on either side


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


def are_known(ratios: Sequence[Sequence[float]]) -> bool:
    """Whether further pairs would hardly change what is known: each mean is good to 2 %.

    By the spread of all ways together, which the luck of one way moves little: to stop when the interval of a
    way itself is narrow is to stop when its pairs agree by chance, and that interval would be too narrow.
    """
    import numpy as np
    from scipy import stats

    logs = [np.log(np.asarray(pairs, dtype=float)) for pairs in ratios if len(pairs) > 1]
    freedom = sum(len(pairs) - 1 for pairs in logs)
    if not freedom:
        return False
    spread = math.sqrt(sum(float(((pairs - pairs.mean()) ** 2).sum()) for pairs in logs) / freedom)
    half = float(stats.t.ppf((1 + LEVEL) / 2, freedom)) * spread / math.sqrt(min(map(len, logs)))
    return half < _NARROW
