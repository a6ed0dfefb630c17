"""What is told of values: equal ones alike, one changed bit otherwise, and nothing of theirs is run."""

from __future__ import annotations

import copy
import random
import types
from collections import deque
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from samerun.recording.lines.values import GENERATOR, TENSOR, Values


class Box:
    def __init__(self, value: object) -> None:
        self.value = value


class Numbers(list[int]):
    def __iter__(self) -> Any:
        raise AssertionError("code of the user's was run")

    def __len__(self) -> int:
        raise AssertionError("code of the user's was run")


class Proxy:
    def __getattr__(self, name: str) -> object:
        raise AssertionError("code of the user's was run")

    def __repr__(self) -> str:
        raise AssertionError("code of the user's was run")

    def __hash__(self) -> int:
        raise AssertionError("code of the user's was run")


def flip(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    changed = array.copy()
    changed.view(np.uint8)[-1] ^= 1
    return changed


PAIRS: list[tuple[object, object]] = [
    ("a", "b"),
    (b"a", b"b"),
    (True, False),
    ([1, [2]], [1, [3]]),
    ({"a": 1.0}, {"a": 1.5}),
    (["x"] * 3000, ["x"] * 2999 + ["y"]),
    (Box(1), Box(2)),
    (2**70, 2**70 + 1),
    (deque([1], maxlen=2), deque([1], maxlen=3)),
    (np.arange(4.0), flip(np.arange(4.0))),
    (torch.arange(4.0), torch.from_numpy(flip(np.arange(4.0)))),
    (np.float64(1.0), np.float64(1.5)),
    (pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [2, 1]})),
    (random.Random(1), random.Random(2)),
    (np.random.default_rng(1), np.random.default_rng(2)),
    (np.random.RandomState(1), np.random.RandomState(2)),
    (np.random.SeedSequence(1), np.random.SeedSequence(2)),
    (torch.Generator().manual_seed(1), torch.Generator().manual_seed(2)),
    (torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)),
]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=lambda value: type(value).__name__)
def test_equal_values_are_told_alike_and_others_are_not(one: object, other: object) -> None:
    values = Values()
    told = values.tell(one)
    assert told is not None
    assert told == Values().tell(copy.deepcopy(one))
    assert told != values.tell(other)


def test_a_list_of_the_users_is_told_by_what_a_list_holds() -> None:
    assert Values().tell(Numbers([1])) == Values().tell(Numbers([1])) != Values().tell(Numbers([2]))


def test_numbers_are_told_as_they_are() -> None:
    assert Values().tell(7) == 7
    assert Values().tell(0.1) == 0.1
    assert Values().tell(float("nan")) == Values().tell(float("nan")) != Values().tell(0.0)


def test_what_holds_data_is_told_from_what_does_not() -> None:
    told = [
        Values().tell(value) for value in ({"x": torch.ones(2)}, Box(np.ones(2)), [random.Random(1)], "x")
    ]
    kinds = [value[:1] if isinstance(value, bytes) and len(value) == 9 else b"" for value in told]
    assert kinds == [TENSOR, TENSOR, GENERATOR, b""]


def test_a_tensor_written_in_place_is_told_anew() -> None:
    values, tensor = Values(), torch.zeros(3)
    before = values.tell(tensor)
    tensor.add_(1)
    assert values.tell(tensor) != before


def test_a_difference_at_either_end_of_a_long_array_is_seen() -> None:
    long = np.zeros(1 << 20)
    for place in (0, -1):
        other = long.copy()
        other[place] = 1
        assert Values().tell(other) != Values().tell(long)
        assert Values().tell(torch.from_numpy(other)) != Values().tell(torch.from_numpy(long))


def test_nothing_is_told_of_what_would_run_code_or_has_no_value() -> None:
    for value in (Proxy(), types, len, Box, (x for x in "a"), torch.empty(2, device="meta")):
        assert Values().tell(value) is None


def test_a_set_is_told_by_what_it_holds_and_then_by_its_order() -> None:
    one, other = {8, 0}, {0, 8}  # two numbers of one place in the table: the first to come is the first
    assert list(one) != list(other)
    a, b, c = (Values().tell(value) for value in (one, other, {0, 9}))
    assert isinstance(a, bytes) and isinstance(b, bytes) and isinstance(c, bytes)
    assert a != b
    assert a[:9] == b[:9] != c[:9]


def test_a_list_that_holds_itself_ends() -> None:
    mine: list[object] = [1]
    mine.append(mine)
    assert Values().tell(mine) is not None
