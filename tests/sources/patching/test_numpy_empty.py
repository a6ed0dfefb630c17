"""NumPy's arrays that hold what the memory held before: seen where the user makes them, zeros on request."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samerun.runs.difference import Difference, LaterDifference, Origin, Row, Side
from samerun.runs.plan import Control
from samerun.sources.uninitialized_memory import UninitializedMemory

MADE = Row(0, "setup", "unwritten", "numpy.empty", call_site="train.py:7")


class Journal:
    def __init__(self) -> None:
        self.noted: list[tuple[str, str]] = []

    def note(self, what: str, name: str, **more: Any) -> None:
        self.noted.append((what, name))


def test_what_the_user_makes_is_noted_and_what_numpy_makes_is_not() -> None:
    journal, original = Journal(), np.empty
    undo = UninitializedMemory().observe(journal)
    assert undo is not None
    try:
        assert np.empty((2, 3), np.float32).shape == (2, 3)
        np.empty_like(np.ones(3))
        np.ones(3), np.stack([np.zeros(2)] * 2)
    finally:
        undo()
    assert journal.noted == [("unwritten", "numpy.empty"), ("unwritten", "numpy.empty_like")]
    assert np.empty is original


def test_on_request_they_are_zeros_and_all_is_put_back() -> None:
    original = np.empty, np.empty_like
    undo = UninitializedMemory().control(Control(only=("uninitialized-memory",)))
    assert undo is not None
    try:
        held = np.full(2048, 7.0)
        del held
        found = np.empty(2048), np.empty_like(np.full(2048, 7.0))
    finally:
        undo()
    assert not np.stack(found).any()
    assert (np.empty, np.empty_like) == original


def test_objects_are_none_as_numpy_makes_them() -> None:
    undo = UninitializedMemory().control(Control(only=("uninitialized-memory",)))
    assert undo is not None
    try:
        assert np.empty(2, object).tolist() == np.empty_like(np.ones(2), dtype=object).tolist() == [None] * 2
        assert np.empty(1, [("a", "i4"), ("b", object)])["b"][0] is None
    finally:
        undo()


@pytest.mark.parametrize(
    "changed, strength",
    [
        ({}, 0.4),
        ({"origin": Origin("aten.add", None, None, "data", True, False, None, False, False)}, None),
        ({"rng_first": {"numpy-global": 0}, "drawn": frozenset({"numpy-global"})}, None),
        ({"a": Side()}, None),
    ],
)
def test_it_is_the_reason_when_nothing_else_is(changed: dict[str, Any], strength: float | None) -> None:
    given: dict[str, Any] = {"a": Side(evidence=(MADE,)), "b": Side(evidence=(MADE,)), **changed}
    found = UninitializedMemory().recognise(Difference(0, "data", "input", **given))
    assert (found and found.strength) == strength
    if found is not None:
        assert found.call_site == "train.py:7" and "numpy.empty" in found.text


def test_memory_that_a_library_read_first_is_named_where_the_user_meets_it() -> None:
    read = Origin("aten.clone", None, None, "setup", True, False, None, True, False)
    met = LaterDifference("origin", 0, "forward", "aten.clamp", None, "train.py:30")
    given: dict[str, Any] = {"origin": read, "further": (met,)}
    found = UninitializedMemory().recognise(Difference(0, "setup", "operation", **given))
    assert found is not None and (found.strength, found.call_site) == (1.0, "train.py:30")


def test_what_compiled_functions_of_numpy_make_and_fill_is_not_noted() -> None:
    """They have no frame of their own: their call looks like one of the line that calls them."""
    journal = Journal()

    def draw() -> None:
        rng = np.random.default_rng(0)
        rng.normal(size=(4, 4))
        np.empty(
            4,
        )
        rng.integers(0, 4, 4)

    undo = UninitializedMemory().observe(journal)
    assert undo is not None
    try:
        draw()
    finally:
        undo()
    assert journal.noted == [("unwritten", "numpy.empty")]
