"""Is A better than B? On simulated studies, where the answer is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from samerun.experiments.study.paired_test import compare_paired

Noise = Callable[[np.random.Generator, int], np.ndarray]
NOISES: dict[str, Noise] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "heavy tails": lambda rng, n: rng.standard_t(3, size=n),
    "accuracy": lambda rng, n: rng.binomial(100, 0.9, size=n) / 100,
}


@pytest.mark.parametrize("noise", NOISES)
def test_false_alarms_are_as_rare_as_they_should_be(noise: str) -> None:
    """250 studies of two commands that are alike, with seeds in common: 5 % of alarms, give or take."""
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(250):
        shared = NOISES[noise](rng, 10)
        alarms += compare_paired(shared + NOISES[noise](rng, 10), shared + NOISES[noise](rng, 10)).differs
    assert alarms / 250 <= 0.08  # three standard errors above 5 % is 9 %


def test_the_very_same_command_is_never_an_alarm() -> None:
    rng = np.random.default_rng(2)
    values = rng.standard_normal(20)
    found = compare_paired(values, values)
    assert (found.p, found.difference, found.low, found.high, found.ties) == (1.0, 0.0, 0.0, 0.0, 20)
    assert found.beats == 0.5
    assert not found.differs


def test_a_real_difference_is_found_though_it_is_smaller_than_the_luck() -> None:
    """The same seeds on both sides: the luck that they share cancels."""
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(30):
        luck = rng.standard_normal(20)
        found += compare_paired(luck + 0.3 + 0.2 * rng.standard_normal(20), luck).differs
    assert found >= 28


def test_the_probability_that_a_beats_b_and_its_interval() -> None:
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(100):
        found = compare_paired(rng.standard_normal(20) + 0.7413, rng.standard_normal(20))  # P(A > B) = 0.70
        held += found.beats_low <= 0.70 <= found.beats_high
    assert held / 100 >= 0.89


def test_lower_can_be_better() -> None:
    a, b = [1.0, 1.1, 0.9, 1.0, 1.2], [2.0, 2.1, 1.7, 2.0, 2.4]
    assert compare_paired(a, b).beats == 0.0
    assert compare_paired(a, b, higher_is_better=False).beats == 1.0


def test_ties_count_half() -> None:
    assert compare_paired([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 2.0, 5.0]).beats == 0.5
