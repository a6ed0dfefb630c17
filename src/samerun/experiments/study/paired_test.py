"""Two commands run with the same seeds: which one is better, and how sure that is. Plain numbers in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from samerun.experiments.study.variance import LEVEL, compute_mean_interval

_RESAMPLES = 9999  # of signs; with few pairs all of them are tried, and the test is exact


@dataclass(frozen=True)
class PairedTest:
    """Differences A - B over the seeds."""

    count: int
    difference: float  # the mean
    low: float
    high: float
    p: float  # how often chance alone gives a mean as far from zero; 1.0 where all pairs are equal
    beats: float  # probability that A is better than B for the same seed; ties count half
    beats_low: float
    beats_high: float
    ties: int

    @property
    def differs(self) -> bool:
        """Whether it is unlikely (5 %) that the difference is chance."""
        return self.p < 1 - LEVEL

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "differs": self.differs}


def compare_paired(a: Sequence[float], b: Sequence[float], higher_is_better: bool = True) -> PairedTest:
    """Compare two commands by the pairs of their metrics for the same seeds, at least two.

    The test flips the signs of the differences, and so needs no distribution; it keeps its rate of false
    alarms where A and B are alike. Wilson's interval for the probability.
    """
    import numpy as np
    from scipy import stats

    differences = np.asarray(a, dtype=float) - np.asarray(b, dtype=float)
    count = len(differences)
    mean, low, high = compute_mean_interval(differences.tolist())
    if not differences.any():
        p = 1.0
    else:
        p = float(
            stats.permutation_test(
                (differences,),
                lambda x, axis: x.mean(axis=axis),
                permutation_type="samples",
                vectorized=True,
                n_resamples=_RESAMPLES,
                rng=np.random.default_rng(0),
            ).pvalue
        )
    better = differences > 0 if higher_is_better else differences < 0
    ties = int((differences == 0).sum())
    share = (float(better.sum()) + ties / 2) / count
    return PairedTest(count, mean, low, high, p, share, *_compute_wilson(share, count), ties)


def _compute_wilson(share: float, count: int) -> tuple[float, float]:
    """Wilson's interval for a share of `count`."""
    from scipy import stats

    z = float(stats.norm.ppf((1 + LEVEL) / 2))
    centre = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return max(centre - half, 0.0), min(centre + half, 1.0)
