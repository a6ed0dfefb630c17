"""The statistics of `study`, on simulated metrics: intervals that hold what they say."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from samerun.experiments.study.variance import (
    Spread,
    compute_expected_best,
    compute_mean_interval,
    measure_luck,
    seeds_needed,
    spread,
    sum_up,
)

Draw = Callable[[np.random.Generator, int], np.ndarray]
METRICS: dict[str, tuple[Draw, float]] = {
    "normal": (lambda rng, n: rng.standard_normal(n), 1.0),
    "uniform": (lambda rng, n: rng.uniform(size=n), 1 / 12),
    "accuracy": (lambda rng, n: rng.binomial(297, 0.97, size=n) / 297, 0.97 * 0.03 / 297),
    "heavy tails": (lambda rng, n: rng.standard_t(5, size=n), 5 / 3),
}


@pytest.mark.parametrize("metric", METRICS)
def test_the_interval_of_a_variance_covers_it(metric: str) -> None:
    draw, true = METRICS[metric]
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(500):
        found = spread(draw(rng, 20).tolist())
        held += found.low <= true <= found.high
    # no interval for 20 values of a heavy-tailed metric is exact; Bonett (2006) gives about 90 % too
    assert held / 500 >= (0.87 if metric == "heavy tails" else 0.92)


def test_the_interval_is_not_merely_wide() -> None:
    rng = np.random.default_rng(2)
    ratios = [(found := spread(rng.standard_normal(20).tolist())).high / found.low for _ in range(200)]
    assert np.median(ratios) < 5  # the chi-square interval's is 3.7


def test_equal_values_have_no_variance_at_all() -> None:
    assert spread([0.1] * 7) == Spread(0.0, 0.0, 0.0, 7)


def test_too_few_values_are_refused() -> None:
    with pytest.raises(ValueError, match="4 values are too few"):
        spread([1.0, 2.0, 3.0, 4.0])


def test_sources_that_do_not_interact_add_up() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(300):
        parts = [spread((scale * rng.standard_normal(20)).tolist()) for scale in (1.0, 2.0, 0.5)]
        together = spread((math.sqrt(1 + 4 + 0.25) * rng.standard_normal(20)).tolist())
        held += sum_up(parts, together).adds_up
    assert held / 300 >= 0.92


def test_an_interaction_is_reported() -> None:
    rng = np.random.default_rng(4)
    parts = [spread(rng.standard_normal(40).tolist()) for _ in range(2)]
    found = sum_up(parts, spread((4 * rng.standard_normal(40)).tolist()))
    assert not found.adds_up
    assert found.interaction > 0


def test_the_interval_of_a_mean_covers_it() -> None:
    rng = np.random.default_rng(5)
    held = sum(
        low <= 0.97 <= high
        for _, low, high in (
            compute_mean_interval((rng.binomial(297, 0.97, 20) / 297).tolist()) for _ in range(500)
        )
    )
    assert 0.92 <= held / 500 <= 0.98


def test_the_best_of_many_is_lucky_by_a_known_amount() -> None:
    rng = np.random.default_rng(6)
    assert compute_expected_best(20) == pytest.approx(
        rng.standard_normal((20_000, 20)).max(axis=1).mean(), abs=0.02
    )
    assert compute_expected_best(2) == pytest.approx(1 / math.sqrt(math.pi))


def test_luck_is_counted_in_deviations_from_the_mean() -> None:
    found = measure_luck([3, 5, 9], [1.0, 2.0, 6.0], 9)
    assert (found.seed, found.value) == (9, 6.0)
    assert found.deviations == pytest.approx(3 / math.sqrt(7))
    assert measure_luck([1, 2, 3], [1.0, 1.0, 1.0], 2).deviations == 0.0


@pytest.mark.parametrize(("deviation", "precision"), [(1.0, 0.5), (0.01, 0.001), (3.0, 10.0)])
def test_so_many_seeds_are_enough_and_one_fewer_is_not(deviation: float, precision: float) -> None:
    from scipy import stats

    count = seeds_needed(deviation, precision)
    assert count is not None

    def half(n: int) -> float:
        return float(stats.t.ppf(0.975, n - 1)) * deviation / math.sqrt(n)

    assert half(count) <= precision
    assert count == 2 or half(count - 1) > precision


def test_more_seeds_than_anybody_has_are_said_to_be_that() -> None:
    assert seeds_needed(1.0, 1e-6) is None
    assert seeds_needed(0.0, 1e-6) == 2
