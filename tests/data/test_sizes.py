from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samerun.data.sizes import compute_sizes, shares_of
from samerun.errors import UsageError

WEIGHTS = st.lists(st.integers(0, 100), min_size=1, max_size=6).filter(any)


@pytest.mark.parametrize(
    ("shares", "samples", "sizes"),
    [
        ([0.8, 0.1, 0.1], 10, [8, 1, 1]),
        ([0.8, 0.1, 0.1], 11, [9, 1, 1]),
        ([0.8, 0.1, 0.1], 3, [3, 0, 0]),
        ([0.7, 0.3], 10, [7, 3]),  # 0.7 · 10 < 7 in floats
        ([0.15, 0.35, 0.5], 10, [2, 3, 5]),  # 1.5 and 3.5 tie: the first part wins
        ([0.35, 0.15, 0.5], 10, [4, 1, 5]),  # likewise, though 0.35 is below 35/100 in binary
        ([1 / 3, 1 / 3, 1 / 3], 10, [4, 3, 3]),
        ([0.5, 0.5], 1, [1, 0]),
        ([0.5, 0.5], 0, [0, 0]),
        ([1.0], 5, [5]),
        ([1.0, 0], 5, [5, 0]),
        ([3, 0, 2], 5, [3, 0, 2]),
        (np.array([0.8, 0.2], dtype=np.float32), 5, [4, 1]),
        (np.array([4, 1]), 5, [4, 1]),
    ],
)
def test_sizes(shares, samples, sizes):
    assert compute_sizes(shares_of(shares), samples) == sizes


@given(WEIGHTS, st.integers(0, 10**6))
def test_each_size_is_less_than_one_from_its_fraction(weights, samples):
    shares = shares_of([weight / sum(weights) for weight in weights])
    sizes = compute_sizes(shares, samples)
    assert sum(shares) == 1
    assert sum(sizes) == samples
    assert all(abs(size - share * samples) < 1 for size, share in zip(sizes, shares, strict=True))


def test_integers_are_counts_and_floats_are_fractions():
    assert shares_of([8, 1, 1]) == [8, 1, 1]
    assert shares_of([0.5, 0.5]) == [Fraction(1, 2), Fraction(1, 2)]


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ([0.8, 0.1], "sum to 0.9"),
        ([0.8, 0.3], "sum to 1.1"),
        ([8.0, 2.0], "sum to 10"),
        ([1.1, -0.1], "negative"),
        ([11, -1], "negative"),
        ([], "no fraction"),
        ([float("nan"), 1.0], "nan"),
        ([float("inf"), 1.0], "inf"),
        (["0.8", "0.2"], "'0.8'"),
        ([True, False], "True"),
        ([None, 1.0], "None"),
        (0.8, "0.8"),
        (8, "8"),
        ("0.8", "'0.8'"),
        ({"train": 0.8}, "train"),
    ],
)
def test_bad_shares_are_refused(shares, said):
    with pytest.raises(UsageError, match=said) as raised:
        shares_of(shares)
    assert "[0.8, 0.1, 0.1]" in str(raised.value)


@pytest.mark.parametrize("counts", [[8, 1], [8, 3], [0, 0]])
def test_counts_that_use_too_few_or_too_many_are_refused(counts):
    with pytest.raises(UsageError, match=rf"sum to {sum(counts)}, but there are 10 samples"):
        compute_sizes(shares_of(counts), 10)
