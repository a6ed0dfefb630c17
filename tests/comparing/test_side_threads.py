"""Records of threads that do not train: compared whenever they come, and all of them."""

from __future__ import annotations

import copy

import pytest

from samerun.comparing.compare_runs import compare
from samerun.runs.schema import BESIDE

from .build import Builder, Record, d, flip, record, training

ROWS = training()


def aside(step: int, what: str, name: str, content: str) -> Record:
    return record(step, "evaluation", what, name, digest=d(content), flags=BESIDE)


def with_rows(*rows: tuple[int, Record]) -> list[Record]:
    """The training with these rows, each before the record at a place."""
    found = copy.deepcopy(ROWS)
    for at, row in sorted(rows, key=lambda item: -item[0]):
        found.insert(at, row)
    return found


EARLY = with_rows((12, aside(0, "saved", "0.pt", "x")), (20, aside(1, "output", "CNN", "y")))
LATE = with_rows((25, aside(2, "output", "CNN", "y")), (26, aside(2, "saved", "0.pt", "x")))


def test_when_they_come_and_in_which_order_is_no_difference(build: Builder) -> None:
    result = compare(build(EARLY), build(LATE))
    assert (result.verdict, result.reason) == ("same", None)
    assert result.scope.counts["saved"] == 4  # one of them beside the training


@pytest.mark.parametrize("what", ["saved", "output"])
def test_one_bit_is(build: Builder, what: str) -> None:
    changed = copy.deepcopy(LATE)
    flip(next(row for row in changed if row.get("flags") == BESIDE and row["what"] == what))
    first = compare(build(EARLY), build(changed)).difference
    assert first is not None
    assert (first.what, first.kind) == (what, "value")


@pytest.mark.parametrize("more", ["a", "b"])
def test_one_more_is(build: Builder, more: str) -> None:
    longer = with_rows((12, aside(0, "saved", "0.pt", "x")))
    runs = (longer, ROWS) if more == "a" else (ROWS, longer)
    first = compare(*map(build, runs)).difference
    assert first is not None
    assert (first.what, first.name, first.kind) == ("saved", "0.pt", "flow")


def test_the_training_comes_first(build: Builder) -> None:
    changed = copy.deepcopy(LATE)
    flip(next(row for row in changed if row.get("flags") == BESIDE))
    flip(next(row for row in changed if row["what"] == "loss" and row["step"] == 2))
    first = compare(build(EARLY), build(changed)).difference
    assert first is not None and (first.what, first.step) == ("loss", 2)


def test_below_a_step_they_are_left_out(build: Builder) -> None:
    """Whether one came by then is chance."""
    result = compare(build(EARLY), build(LATE), steps=2)
    assert result.verdict == "same"
    assert [note for note in result.notes if "threads beside the training" in note]
    assert not compare(build(EARLY), build(LATE)).notes
    assert compare(build(EARLY[:-1]), build(LATE[:-1])).verdict == "unknown"
