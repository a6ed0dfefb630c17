"""Covers `permutation.py`."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import samerun
from samerun.data import Sampler
from samerun.errors import StateError, UsageError


@given(st.integers(0, 60), st.integers(1, 5), st.sampled_from(["drop", "pad", "keep"]), st.booleans())
def test_ranks_share_the_order_out(n: int, world_size: int, uneven: Any, shuffle: bool) -> None:
    shares = [
        Sampler(n, seed=1, shuffle=shuffle, rank=rank, world_size=world_size, uneven=uneven)
        for rank in range(world_size)
    ]
    taken = [list(share) for share in shares]
    assert [len(share) for share in shares] == [len(each) for each in taken]
    together = [i for turn in itertools.zip_longest(*taken) for i in turn if i is not None]
    order = shares[0].order().tolist()
    assert sorted(order) == list(range(n))
    if uneven == "keep":
        assert together == order
    elif uneven == "drop":
        assert together == order[: n - n % world_size]
    else:
        assert together[:n] == order and set(together[n:]) <= set(order) and len(together) - n < world_size


@given(st.integers(0, 60), st.integers(1, 5), st.sampled_from(["drop", "pad", "keep"]))
def test_without_shuffling_the_share_is_given_without_making_it(n: int, world_size: int, uneven: Any) -> None:
    for rank in range(world_size):
        one = Sampler(n, shuffle=False, seed=0, rank=rank, world_size=world_size, uneven=uneven)
        if n or uneven != "pad":
            assert list(one) == one.share().tolist()
            assert len(list(one)) == len(one)


def test_data_that_no_longer_divide_are_refused_when_the_epoch_begins() -> None:
    data = list(range(8))
    one = Sampler(data, seed=0, rank=0, world_size=2)
    assert len(list(one)) == 4
    data.append(8)
    with pytest.raises(UsageError, match="9 samples do not divide over 2 ranks"):
        list(one)


def test_the_order_is_pinned() -> None:
    """A change of these numbers changes every training's order: a breaking change, with a decision record."""
    sampler = Sampler(12, seed=0)
    first = list(sampler)
    sampler.set_epoch(1)
    assert [first, list(sampler)] == [
        [10, 3, 7, 8, 5, 6, 9, 11, 4, 1, 2, 0],
        [10, 11, 7, 4, 9, 1, 6, 5, 0, 2, 8, 3],
    ]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"data": 10, "rank": 0, "world_size": 3}, "10 samples do not divide over 3 ranks.*leaves out 1"),
        ({"data": 10, "rank": 3, "world_size": 3, "uneven": "pad"}, "rank 3 is not one of 3"),
        ({"data": 10, "uneven": "other"}, "uneven is"),
        ({"data": -1}, "not negative"),
        ({"data": iter(())}, "data with a length"),
        ({"data": 10, "seed": None, "rank": 0, "world_size": 2}, "a seed of its own"),
        ({"data": 10, "seed": 2**64}, "between 0 and"),
    ],
)
def test_bad_arguments(options: dict[str, Any], says: str) -> None:
    options = {"seed": 1, **options}
    with pytest.raises(UsageError, match=says):
        Sampler(options.pop("data"), **options)


def test_any_integer_is_a_number_of_samples() -> None:
    assert (
        list(Sampler(np.int64(12), seed=0)) == list(Sampler(12, seed=0)) == list(Sampler(range(12), seed=0))
    )


def test_ranks_may_share_the_controls_seed() -> None:
    with samerun.control(seed=4):
        assert Sampler(10, rank=0, world_size=2).seed == 4


def test_state() -> None:
    one, other = Sampler(10, seed=1), Sampler(10, seed=2)
    one.set_epoch(5)
    other.load_state_dict(one.state_dict())
    assert list(other) == list(one)
    with pytest.raises(StateError, match="samples 10, this one has 11"):
        Sampler(11, seed=1).load_state_dict(one.state_dict())
    with pytest.raises(StateError, match="lacks epoch"):
        one.load_state_dict({"seed": 1, "name": "data", "samples": 10})
