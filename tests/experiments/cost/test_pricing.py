"""The statistics of `cost`, on simulated timings: right under noise that bursts and drifts."""

from __future__ import annotations

import numpy as np
import pytest

from samerun.experiments.cost.pricing import Ratio, average_pairs, compare_pair

STEPS, ROUNDS = 40, 5


def measured(true: float, noise: np.random.Generator) -> Ratio:
    """A price from simulated turns: each step meets bursts that slow it several times, each round drifts."""
    ratios = []
    for _ in range(ROUNDS):
        drift = np.exp(0.5 * noise.standard_normal(STEPS).cumsum() / STEPS**0.5)
        a, b = (
            drift
            * np.exp(0.03 * noise.standard_normal(STEPS))
            * np.where(noise.random(STEPS) < 0.2, 5.0, 1.0)
            for _ in range(2)
        )
        found = compare_pair((true * a).tolist(), b.tolist())
        assert found is not None
        ratios.append(found)
    price = average_pairs(ratios)
    assert price is not None
    return price


def test_the_interval_of_nothing_holds_one_as_often_as_it_says() -> None:
    noise = np.random.default_rng(1)
    held = sum(measured(1.0, noise).holds(1.0) for _ in range(200))
    assert 0.91 <= held / 200 <= 0.99


def test_a_slowdown_of_ten_percent_is_found_and_not_mistaken_for_more() -> None:
    noise = np.random.default_rng(2)
    prices = [measured(1.10, noise) for _ in range(200)]
    assert sum(price.low > 1.0 for price in prices) / 200 > 0.95
    assert 0.92 <= sum(price.holds(1.10) for price in prices) / 200 <= 0.98


def test_one_pair_has_no_interval() -> None:
    assert average_pairs([1.1]) is None


def test_steps_that_one_of_the_two_lacks_are_left_out() -> None:
    assert compare_pair([2.0, 2.0, 9.0], [1.0, 1.0]) == pytest.approx(2.0)
    assert compare_pair([], [1.0]) is None
