"""The statistics of `cost`, on simulated timings: right under noise that bursts and drifts."""

from __future__ import annotations

import numpy as np
import pytest

from samerun.experiments.cost.pricing import Ratio, are_known, average_pairs, compare_pair

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


def until_known(deviation: float, noise: np.random.Generator) -> list[list[float]]:
    """Pairs of eight ways that cost nothing, as many rounds as it takes (3 to 5)."""
    pairs: list[list[float]] = [[] for _ in range(8)]
    for number in range(1, ROUNDS + 1):
        for way in pairs:
            way.append(float(np.exp(deviation * noise.standard_normal())))
        if number >= 3 and are_known(pairs):
            break
    return pairs


def test_to_stop_once_prices_are_known_leaves_intervals_that_hold_as_often_as_they_say() -> None:
    noise = np.random.default_rng(3)
    found = [until_known(0.019, noise) for _ in range(150)]
    assert {len(pairs[0]) for pairs in found} > {3, 4}  # the rule matters here
    prices = [average_pairs(way) for pairs in found for way in pairs]
    held = sum(price is not None and price.holds(1.0) for price in prices)
    assert 0.93 <= held / len(prices) <= 0.97


def test_noisy_pairs_are_not_known_and_a_single_round_never_is() -> None:
    assert not are_known(until_known(0.2, np.random.default_rng(4)))
    assert not are_known([[1.0], [1.0]])
    assert are_known([[1.0, 1.001, 0.999], [1.3, 1.301, 1.299]])
