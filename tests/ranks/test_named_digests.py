"""A value taken apart: every bit of it is in some entry, and each entry has a name."""

from __future__ import annotations

import collections
import dataclasses
import random
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import nn

from samerun.errors import DigestError, UsageError
from samerun.ranks.named_digests import find_first_difference, list_entries


class Pair(NamedTuple):
    left: int
    right: Any


@dataclasses.dataclass
class Result:
    loss: float
    weights: dict[str, torch.Tensor]


class Masked(nn.Linear):
    def __init__(self) -> None:
        super().__init__(2, 2)
        self.register_buffer("mask", torch.ones(2), persistent=False)

    def get_extra_state(self) -> dict[str, int]:
        return {"calls": 3}


def names(value: Any) -> list[str]:
    return [entry.name for entry in list_entries(value, "x")]


def test_names() -> None:
    assert names(1) == ["x"]
    assert names({"a": 1, 2: [3, (4,)]}) == ["x.a", "x[2][0]", "x[2][1][0]"]
    assert names(Pair(1, Result(0.5, {"w": torch.zeros(1)}))) == [
        "x.left",
        "x.right.loss",
        "x.right.weights.w",
    ]
    assert names(Masked()) == ["x.weight", "x.bias", "x.mask", "x._extra_state.calls"]
    assert names([]) == ["x"]
    assert [entry.name for entry in list_entries([1])] == ["[0]"]


def test_a_name_that_comes_twice_keeps_both() -> None:
    a, b = ({"a.b": 1, "a": {"b": last}} for last in (2, 3))
    difference = find_first_difference(list_entries(a), list_entries(b))
    assert difference is not None and difference[0] is not None
    assert (difference[0].name, difference[0].shown) == ("a.b", "2")


def test_an_optimizer_is_its_state() -> None:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert "x.state[0].exp_avg" in names(optimizer)
    assert "x.param_groups[0].lr" in names(optimizer)


def _moved(generator: Any, draw: Callable[[Any], Any]) -> Any:
    draw(generator)
    return generator


@pytest.mark.parametrize(
    ("make", "draw"),
    [
        (lambda: random.Random(0), lambda g: g.random()),
        (lambda: np.random.default_rng(0), lambda g: g.random()),
        (lambda: np.random.RandomState(0), lambda g: g.rand()),
        (lambda: torch.Generator().manual_seed(0), lambda g: torch.rand(1, generator=g)),
    ],
)
def test_a_generator_is_where_it_stands(make: Callable[[], Any], draw: Callable[[Any], Any]) -> None:
    assert find_first_difference(list_entries(make()), list_entries(make())) is None
    assert find_first_difference(list_entries(make()), list_entries(_moved(make(), draw))) is not None


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ([], {}),
        ([1], []),
        ({}, {"a": 1}),
        (list(range(5000)), [*range(4999), 0]),
        (np.arange(3), np.array([0, 1, 3])),
        (torch.zeros(2), torch.zeros(2, dtype=torch.float64)),
        (torch.zeros(2), torch.zeros(1, 2)),
        (float("nan"), None),
        ({1, 2}, {1, 3}),
        (len, max),
        (collections.deque([1, 2]), collections.deque([2, 1])),
    ],
    ids=repr,
)
def test_what_differs_is_seen(a: Any, b: Any) -> None:
    assert find_first_difference(list_entries(a), list_entries(a)) is None
    assert find_first_difference(list_entries(a), list_entries(b)) is not None
    assert find_first_difference(list_entries(b), list_entries(a)) is not None


def test_the_order_of_a_mapping_does_not_count_and_that_of_a_list_does() -> None:
    assert find_first_difference(list_entries({"a": 1, "b": 2}), list_entries({"b": 2, "a": 1})) is None
    assert find_first_difference(list_entries([1, 2]), list_entries([2, 1])) is not None


def test_what_an_entry_shows() -> None:
    shown = [
        e.shown
        for e in list_entries(
            [0.5, torch.tensor(2.0), torch.zeros(2, 3), b"abc", "a" * 99, Path("x"), np.int8(4)]
        )
    ]
    assert shown == [
        "0.5",
        "2.0",
        "torch.float32 (2, 3)",
        "3 bytes",
        repr("a" * 99)[:37] + "...",
        "a PosixPath",
        "4",
    ]


@pytest.mark.parametrize("value", [object(), types.SimpleNamespace(a=1), iter([]), (x for x in [])])
def test_what_has_no_known_content_is_refused(value: object) -> None:
    with pytest.raises(UsageError, match=r"no telling whether two .* are the same \(x\.here\)"):
        list_entries({"here": value}, "x")


def test_a_value_inside_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(UsageError, match="contains itself"):
        list_entries(value)


def test_a_tensor_without_bytes_is_refused() -> None:
    with pytest.raises(DigestError):
        list_entries(torch.empty(2, device="meta"))
