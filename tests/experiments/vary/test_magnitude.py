from __future__ import annotations

import math

import pytest

from samerun.experiments.vary.magnitude import count_ulps, measure_losses


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1.0, 1.0, 0),
        (1.0, 1.0 + 2**-23, 1),
        (1.0, 2.0, 2**23),
        (-1.0, -1.0 - 2**-23, 1),
        (0.0, -0.0, 0),
        (2**-149, -(2**-149), 2),  # the smallest float32 on both sides of zero
        (1e300, 3.4028234663852886e38, 1),
    ],
)
def test_ulps_count_the_float32_between(one: float, other: float, expected: float) -> None:
    assert count_ulps(one, other) == expected
    assert count_ulps(other, one) == expected


def test_what_is_no_number_has_no_ulps() -> None:
    assert count_ulps(math.nan, 1.0) is None
    assert count_ulps(1.0, math.inf) is None


def test_the_first_loss_that_differs_and_the_last_ones() -> None:
    size = measure_losses({0: (1.0,), 1: (2.0,), 2: (3.0,)}, {0: (1.0,), 1: (2.0 + 2**-22,), 2: (3.5,)})
    assert (size.loss_step, size.loss_ulps, size.final_losses) == (1, 1, (3.0, 3.5))


def test_equal_losses_have_no_step() -> None:
    size = measure_losses({0: (math.nan,)}, {0: (math.nan,)})
    assert (size.loss_step, size.loss_ulps) == (None, None)
