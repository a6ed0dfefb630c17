"""A recording that broke off is never part of `same`, and never makes a difference of its own."""

from __future__ import annotations

import pytest

from samerun.comparing.compare_runs import compare
from samerun.runs.recorder_errors import complain
from samerun.runs.store import Run

from .build import Builder, Record, find, flip, record, training


def broken(rows: list[Record], step: int) -> list[Record]:
    """The rows up to the loss of a step, where the recorder failed."""
    error = record(
        step, "forward", "note", "recorder-error", detail="Traceback\nValueError: odd", digest=None
    )
    return [*rows[: find(rows, "loss", step)], error]


def complained(run: Run) -> Run:
    complain(run.path, "the recording of rank0 broke off at step 1 (forward): ValueError: odd", broken=True)
    return run


@pytest.mark.parametrize("told", [True, False], ids=["with the file", "by the trace alone"])
def test_equal_as_far_as_recorded_is_unknown(build: Builder, told: bool) -> None:
    whole, cut = build(training()), build(broken(training(), 1), closed=False)
    if told:
        complained(cut)
    for runs in ((whole, cut), (cut, whole), (cut, cut)):
        result = compare(*runs)
        assert result.verdict == "unknown"
        assert result.reason == "the recording of rank0 broke off at step 1 (forward): ValueError: odd"


def test_a_note_inside_a_whole_trace_is_unknown_too(build: Builder) -> None:
    rows = training()
    rows.insert(9, record(0, "forward", "note", "recorder-error", detail="ValueError: odd", digest=None))
    assert compare(build(rows), build(training())).verdict == "unknown"


def test_a_process_that_is_not_there_because_its_recording_broke_off(build: Builder) -> None:
    whole, lacks = build(training(), training()), complained(build(training()))
    assert compare(whole, lacks).verdict == compare(lacks, whole).verdict == "unknown"


def test_they_differ_where_they_differ_before_it(build: Builder) -> None:
    changed = training()
    flip(changed[find(changed, "batch", 0)])
    result = compare(build(changed), complained(build(broken(training(), 1), closed=False)))
    assert result.verdict == "differs"
    assert result.difference is not None
    assert (result.difference.step, result.difference.what) == (0, "batch")


def test_what_failed_beside_the_recording_is_a_note_and_no_more(build: Builder) -> None:
    one, other = build(training()), build(training())
    for run in (one, other):
        complain(run.path, "controlling threads failed: ValueError: odd")
    result = compare(one, other)
    assert (result.verdict, result.notes) == (
        "same",
        ("while recording: controlling threads failed: ValueError: odd",),
    )


def test_the_losses_are_those_of_the_process_that_parts(build: Builder) -> None:
    quiet, parts = training(), training()
    for row in parts:
        if row["what"] == "loss":
            row["value"] = 7.0
    changed = [dict(row) for row in parts]
    flip(changed[find(changed, "gradients", 1)])
    result = compare(build(quiet, parts), build(quiet, changed))
    assert result.losses[0][0] == (7.0,)


@pytest.mark.parametrize("cut", [20, 200, 600, 1200, 2000, 4000])
def test_a_trace_cut_anywhere_is_no_difference(build: Builder, cut: int) -> None:
    """Even where no record that decides is left of it."""
    whole, other = build(training()), build(training())
    file = other.path / "rank0.trace.arrow"
    data = file.read_bytes()
    file.write_bytes(data[: max(len(data) - cut, 1200)])
    for pair in ((whole, other), (other, whole)):
        result = compare(*pair)
        assert result.verdict == "unknown", (len(data), result.difference)
        assert result.reason is not None and "rank0" in result.reason


def test_a_process_that_only_one_of_two_whole_runs_has_is_a_difference(build: Builder) -> None:
    result = compare(build(training(), training()), build(training()))
    assert result.verdict == "differs"
