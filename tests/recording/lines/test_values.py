"""What is found of values: equal ones alike, one changed bit otherwise, and nothing of theirs is run."""

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
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from samerun.recording.lines.values import Values
from samerun.runs.followed import GENERATOR, TENSOR


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
def test_equal_values_are_alike_and_others_are_not(one: object, other: object) -> None:
    values = Values()
    found = values.summarise(one)
    assert found is not None
    assert found == Values().summarise(copy.deepcopy(one))
    assert found != values.summarise(other)


def test_a_list_of_the_users_is_what_a_list_holds() -> None:
    assert (
        Values().summarise(Numbers([1]))
        == Values().summarise(Numbers([1]))
        != Values().summarise(Numbers([2]))
    )


def test_numbers_stand_for_themselves() -> None:
    assert Values().summarise(7) == 7
    assert Values().summarise(0.1) == 0.1
    assert Values().summarise(float("nan")) == Values().summarise(float("nan")) != Values().summarise(0.0)


def test_what_holds_data_is_known_from_what_does_not() -> None:
    found = [
        Values().summarise(value)
        for value in ({"x": torch.ones(2)}, Box(np.ones(2)), [random.Random(1)], "x")
    ]
    kinds = [value[:1] if isinstance(value, bytes) and len(value) == 9 else b"" for value in found]
    assert kinds == [TENSOR, TENSOR, GENERATOR, b""]


def test_a_tensor_written_in_place_is_another_one() -> None:
    values, tensor = Values(), torch.zeros(3)
    before = values.summarise(tensor)
    tensor.add_(1)
    assert values.summarise(tensor) != before


def test_a_difference_at_either_end_of_a_long_array_is_seen() -> None:
    long = np.zeros(1 << 20)
    for place in (0, -1):
        other = long.copy()
        other[place] = 1
        assert Values().summarise(other) != Values().summarise(long)
        assert Values().summarise(torch.from_numpy(other)) != Values().summarise(torch.from_numpy(long))


def test_what_would_run_code_or_has_no_value_is_not_known() -> None:
    for value in (Proxy(), types, len, Box, (x for x in "a"), torch.empty(2, device="meta")):
        assert Values().summarise(value) is None


def test_a_set_is_what_it_holds_and_then_its_order() -> None:
    one, other = {8, 0}, {0, 8}  # two numbers of one place in the table: the first to come is the first
    assert list(one) != list(other)
    a, b, c = (Values().summarise(value) for value in (one, other, {0, 9}))
    assert isinstance(a, bytes) and isinstance(b, bytes) and isinstance(c, bytes)
    assert a != b
    assert a[:9] == b[:9] != c[:9]


def test_a_column_of_the_users_objects_is_not_hashed() -> None:
    """pandas asks each cell for its hash, or its text."""
    texts = pd.DataFrame({"a": pd.Series(["x", None], dtype=object), "b": [1, 2]})
    assert Values().summarise(texts) == Values().summarise(texts.copy()) is not None
    assert Values().summarise(texts.assign(a=pd.Series([Proxy(), "x"], dtype=object))) is None


def test_no_mode_of_the_users_sees_that_a_tensor_is_read() -> None:
    seen: list[object] = []

    class Watch(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    class Dispatched(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    tensor = torch.ones(1 << 20)
    with Watch(), Dispatched():
        assert Values().summarise(tensor) is not None
    assert seen == []


def test_a_list_that_holds_itself_ends() -> None:
    mine: list[object] = [1]
    mine.append(mine)
    assert Values().summarise(mine) is not None
