"""What a run used that nothing controlled."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from samerun.comparing.pairing import RecordedRun, read
from samerun.comparing.uncontrolled import find_left_files, is_controlled, list_uncontrolled
from samerun.runs.plan import Control
from samerun.runs.schema import UNINITIALIZED

from .build import Builder, Record, operation, record, training


def recorded(folder: Path, *rows: Record, control: Control | None = None) -> RecordedRun:
    plan: dict[str, Any] = {"control": control and dataclasses.asdict(control)}
    return read(Builder(folder)([*rows, *training()], plan=plan))


ARRIVAL = record(0, "data", "arrival", "as_completed", call_site="train.py:4")


def test_each_use_once_with_its_line(tmp_path: Path) -> None:
    (used,) = list_uncontrolled(recorded(tmp_path, ARRIVAL, ARRIVAL))
    assert (used.source, used.uses) == ("worker-arrival", (("as_completed", "train.py:4"),))


def test_the_races_of_a_program_that_does_not_train_are_not_the_trainings(tmp_path: Path) -> None:
    stamp = record(0, "setup", "clock", "time.time", call_site="prepare.py:2")
    made = read(Builder(tmp_path)(training(), traces={"rank0.helper-12345678": [ARRIVAL, stamp]}))
    assert [used.source for used in list_uncontrolled(made)] == ["clock"]


def test_memory_that_nothing_wrote(tmp_path: Path) -> None:
    row = operation(0, "aten::empty", "x", flags=UNINITIALIZED, call_site="train.py:5")
    (used,) = list_uncontrolled(recorded(tmp_path, row))
    assert (used.source, used.uses) == ("uninitialized-memory", (("aten::empty", "train.py:5"),))


def test_what_is_controlled_is_not_named(tmp_path: Path) -> None:
    made = recorded(tmp_path, ARRIVAL, control=Control())
    assert is_controlled(made, "worker-arrival")
    assert not is_controlled(made, "clock")
    assert list_uncontrolled(made) == []


@pytest.mark.parametrize("control", [{}, {"mode": "strict"}, "strict", [1]])
def test_a_control_that_was_damaged_is_none(control: Any, tmp_path: Path) -> None:
    made = read(Builder(tmp_path)([ARRIVAL, *training()], plan={"control": control}))
    assert not is_controlled(made, "worker-arrival")
    assert [used.source for used in list_uncontrolled(made)] == ["worker-arrival"]


def test_what_its_control_leaves_alone_is_named_all_the_same(tmp_path: Path) -> None:
    waits = record(0, "data", "arrival", "asyncio.wait", call_site="train.py:9")
    (used,) = list_uncontrolled(recorded(tmp_path, ARRIVAL, waits, control=Control()))
    assert (used.source, used.uses) == ("worker-arrival", (("asyncio.wait", "train.py:9"),))


def test_files_read_and_then_written_are_left_for_the_next(tmp_path: Path) -> None:
    rows = [
        record(0, "setup", what, "open", detail=path, call_site=f"train.py:{line}")
        for line, (what, path) in enumerate(
            [("opened", "state"), ("written", "state"), ("written", "log"), ("opened", "log")], start=1
        )
    ]
    other = tmp_path / "other"
    other.mkdir()
    used = find_left_files(recorded(tmp_path, *rows))
    assert used is not None
    assert used.uses == (("state", "train.py:1"),)
    assert find_left_files(recorded(other, *rows[2:])) is None
