"""What is another value each time and had no effect is told with a `same`, and with nothing else."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from samerun.comparing.compare_runs import compare
from samerun.comparing.pairing import read as read_run
from samerun.comparing.unexplained_inputs import may_agree_by_luck
from samerun.runs.plan import Control, Plan
from samerun.runs.schema import UNINITIALIZED
from samerun.runs.store import Run

from .build import Builder, Record, d, record, training


def read(name: str, line: int, what: str = "clock") -> Record:
    return record(0, "setup", what, name, digest=None, call_site=f"train.py:{line}")


def test_a_clock_that_had_no_effect_is_named_with_its_lines(build: Builder) -> None:
    reads = [read("time.time", 3), read("time.time", 3), read("os.getpid", 5, "identity")]
    result = compare(build(reads + training()), build(reads + training()))
    assert result.verdict == "same"
    (note,) = result.notes
    assert "without effect in these runs" in note
    assert "clock (time.time at train.py:3)" in note
    assert "process-id (os.getpid at train.py:5)" in note


def test_many_places_are_counted(build: Builder) -> None:
    run = build([read("time.time", line) for line in range(7)] + training())
    (note,) = compare(run, run).notes
    assert "train.py:2 and 4 more" in note


def test_without_such_reads_there_is_no_note(build: Builder) -> None:
    run = build(training())
    assert compare(run, run).notes == ()


def test_runs_that_differ_are_explained_elsewhere(build: Builder) -> None:
    rows = [read("time.time", 3), *training()]
    changed = training(2)
    changed[-3]["digest"] = d("other")
    result = compare(build(rows), build([read("time.time", 3), *changed]))
    assert result.verdict == "differs"
    assert not any("without effect" in note for note in result.notes)


def test_memory_that_nothing_had_written_is_named(build: Builder) -> None:
    """Two runs can find the same there by luck."""
    run = build([read("numpy.empty", 17, "unwritten"), *training()])
    result = compare(run, run)
    assert result.verdict == "same"
    (note,) = result.notes
    assert "without effect in these runs" in note
    assert "uninitialized-memory (numpy.empty at train.py:17)" in note


def test_an_operation_that_read_such_memory_is_named_and_one_that_did_not_is_not(build: Builder) -> None:
    tanh = {"name": "aten.tanh", "call_site": "train.py:21"}
    for flags, notes in ((UNINITIALIZED, 1), (0, 0)):
        run = build([record(0, "forward", "operation", flags=flags, **tanh), *training()])
        result = compare(run, run)
        assert len(result.notes) == notes
        assert all("uninitialized-memory (aten.tanh at train.py:21)" in note for note in result.notes)
        assert may_agree_by_luck(read_run(run)) == bool(notes)


def controlled(run: Run, control: Control | None) -> Run:
    """The run as if it had been recorded so."""
    plan = json.loads(Plan(run=str(run.path), control=control).to_json())
    manifest = replace(run.manifest, mode=None if control is None else control.mode, plan=plan)
    manifest.write(run.path)
    return Run(run.path)


ARRIVAL = "worker-arrival (as_completed at train.py:8)"


@pytest.mark.parametrize(
    ("control", "named"),
    [
        (None, [ARRIVAL, "thread-scheduling (start at train.py:7)", "clock (time.time at train.py:3)"]),
        (Control(), ["thread-scheduling (start at train.py:7)", "clock (time.time at train.py:3)"]),
        (Control(extra=("clock",)), ["thread-scheduling (start at train.py:7)"]),
        (Control(only=("clock",)), [ARRIVAL, "thread-scheduling (start at train.py:7)"]),
    ],
)
def test_results_as_they_come_and_threads_are_named_unless_controlled(
    build: Builder, control: Control | None, named: list[str]
) -> None:
    reads = [read("time.time", 3), read("start", 7, "threads"), read("as_completed", 8, "arrival")]
    run = controlled(build(reads + training()), control)
    (note,) = compare(run, run).notes
    assert sorted(note.partition(": ")[2].split("; ")) == sorted(named)
    assert may_agree_by_luck(read_run(run)) is (ARRIVAL in named)
