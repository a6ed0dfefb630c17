"""The time of each step, by a clock of the test's."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from samerun.recording.steps import step_timer
from samerun.recording.steps.step_timer import DONE, FREE, GO, step_seconds
from samerun.runs.plan import Plan


def clock(plan: Plan, now: list[float], monkeypatch: pytest.MonkeyPatch) -> step_timer._Clock:
    monkeypatch.setattr(step_timer, "_now", lambda: now[0])
    return step_timer._Clock(plan, SimpleNamespace(is_initialized=lambda: False))


def test_all_steps_but_the_first_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    made = clock(Plan(str(tmp_path)), now, monkeypatch)
    for ends in (110.0, 111.5, 111.75):
        now[0] = ends
        made.ended()
    made.write()
    assert step_seconds(tmp_path) == [1.5, 0.25]


def test_waiting_for_a_turn_is_no_part_of_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (GO, DONE):
        os.mkfifo(tmp_path / name)
    done = os.open(tmp_path / DONE, os.O_RDWR)
    go = os.open(tmp_path / GO, os.O_RDWR)
    now = [0.0]
    made = clock(Plan(str(tmp_path), clock=str(tmp_path)), now, monkeypatch)
    wait = made._turns.wait

    def waiting() -> None:
        wait()
        now[0] += 50

    monkeypatch.setattr(made._turns, "wait", waiting)
    os.write(go, b"g" + FREE)  # one turn, then free
    for _ in range(3):
        now[0] += 1
        made.ended()
    made.write()
    assert step_seconds(tmp_path) == [1.0, 1.0]
    assert os.read(done, 64).split() == [str(os.getpid()).encode()] * 2  # none once it is free
    os.close(done)
    os.close(go)


@pytest.mark.parametrize("text", [None, "", "{}", '{"seconds": 1}', '{"seconds": ["x", "y"]}'])
def test_what_cannot_be_read_is_no_steps(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "rank0.times.json").write_text(text)
    assert step_seconds(tmp_path) == []
