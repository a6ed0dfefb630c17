from __future__ import annotations

import pytest
from scipy.stats import binomtest

from samerun.experiments import confidence


@pytest.mark.parametrize("equal", [2, 5, 30, 300])
def test_the_limit_is_that_of_clopper_and_pearson(equal: int) -> None:
    exact = binomtest(0, equal, alternative="less").proportion_ci(0.95, method="exact").high
    assert confidence.compute_rarest(equal) == pytest.approx(exact)


def test_thirty_equal_runs_exclude_a_tenth() -> None:
    assert (
        confidence.describe_confidence(30)
        == "30 equal runs: fewer than 9.6 % of runs differ from these, at 95 % confidence"
    )


@pytest.mark.parametrize("share", [0.9, 0.5, 0.1])
def test_as_many_runs_are_needed_as_exclude_the_share(share: float) -> None:
    needed = confidence.count_runs_needed(share)
    assert (
        confidence.compute_rarest(needed)
        <= share
        < (confidence.compute_rarest(needed - 1) if needed > 1 else 1)
    )


def test_what_five_equal_runs_miss_is_said() -> None:
    said = confidence.describe_misses(5)
    assert "half of all pairs of runs is missed with a probability of 6 %" in said
    assert "a tenth of them with 66 %" in said
