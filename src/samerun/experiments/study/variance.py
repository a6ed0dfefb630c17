"""How much of a metric is luck: variances with intervals, from plain numbers.

Variances of few seeds are uncertain, and metrics are rarely normal: the interval is that of Bonett (2006,
Computational Statistics & Data Analysis 50, 775-782), which takes the kurtosis into account; that of a sum
is by MOVER (Zou and Donner 2008, Statistics in Medicine 27, 1693-1702).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LEVEL = 0.95
LEAST = 5  # values of which the variance has an interval


@dataclass(frozen=True)
class Spread:
    """A variance and its interval at 95 % confidence."""

    variance: float
    low: float
    high: float
    count: int  # values that it rests on

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.variance)


def spread(values: Sequence[float]) -> Spread:
    """The variance of the values, at least LEAST of them; exactly zero where all are equal."""
    import numpy as np
    from scipy import stats

    x = np.asarray(values, dtype=float)
    n = len(x)
    if n < LEAST:
        raise ValueError(f"{n} values are too few for an interval; give {LEAST} or more")
    variance = float(x.var(ddof=1))
    if float(np.ptp(x)) == 0.0:
        return Spread(0.0, 0.0, 0.0, n)
    middle = float(stats.trim_mean(x, 1 / (2 * math.sqrt(n - 4))))
    fourth = float(((x - middle) ** 4).sum())
    kurtosis = n * fourth / float(((x - x.mean()) ** 2).sum()) ** 2
    z = float(stats.norm.ppf((1 + LEVEL) / 2))
    scale = n / (n - z)
    error = scale * math.sqrt(max(kurtosis - (n - 3) / n, 0.0) / (n - 1))
    centre = math.log(scale * variance)
    return Spread(variance, math.exp(centre - z * error), math.exp(centre + z * error), n)


@dataclass(frozen=True)
class Sum:
    """Whether the variances of the sources make up that of all together."""

    parts: float  # the sum of the sources' variances
    together: float  # the variance with all of them varied
    interaction: float  # together - parts
    low: float
    high: float

    @property
    def adds_up(self) -> bool:
        """Whether the interval of the interaction holds zero."""
        return self.low <= 0.0 <= self.high


def sum_up(parts: Sequence[Spread], together: Spread) -> Sum:
    """What the variance of all together has beyond the sum of the parts."""
    total = math.fsum(part.variance for part in parts)
    below = math.fsum((part.variance - part.low) ** 2 for part in parts)
    above = math.fsum((part.high - part.variance) ** 2 for part in parts)
    found = together.variance - total
    low = found - math.sqrt((together.variance - together.low) ** 2 + above)
    high = found + math.sqrt((together.high - together.variance) ** 2 + below)
    return Sum(total, together.variance, found, low, high)


@dataclass(frozen=True)
class Luck:
    """One seed among the others."""

    seed: int
    value: float
    deviations: float  # standard deviations from the mean; 0 where there are none
    expected: float  # how many the best of so many normal values has on average, by luck alone


def measure_luck(seeds: Sequence[int], values: Sequence[float], seed: int) -> Luck:
    """How far the value of one of the seeds is from the mean of all."""
    import numpy as np

    x = np.asarray(values, dtype=float)
    value = float(x[list(seeds).index(seed)])
    deviation = float(x.std(ddof=1))
    far = (value - float(x.mean())) / deviation if deviation else 0.0
    return Luck(seed, value, far, compute_expected_best(len(x)))


def compute_expected_best(count: int) -> float:
    """The mean of the largest of `count` standard normal values."""
    from scipy import integrate, stats

    def weighted(x: float) -> float:
        density = float(stats.norm.pdf(x))
        return x * count * density * float(stats.norm.cdf(x)) ** (count - 1)

    return float(integrate.quad(weighted, -10, 10)[0])


def compute_mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """(mean, low, high): Student's interval at 95 % confidence. Two values or more."""
    import numpy as np
    from scipy import stats

    x = np.asarray(values, dtype=float)
    mean = float(x.mean())
    half = float(stats.t.ppf((1 + LEVEL) / 2, len(x) - 1)) * float(stats.sem(x))
    return mean, mean - half, mean + half


def seeds_needed(deviation: float, precision: float, most: int = 100_000) -> int | None:
    """How many seeds make the mean's interval no wider than ± `precision`; None for more than `most`."""
    from scipy import stats

    if deviation == 0.0:
        return 2

    def half(count: int) -> float:
        return float(stats.t.ppf((1 + LEVEL) / 2, count - 1)) * deviation / math.sqrt(count)

    if half(most) > precision:
        return None
    low, high = 1, most  # half(low) is too wide, half(high) is not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if half(middle) <= precision else (middle, high)
    return high
