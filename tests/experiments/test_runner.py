"""One run is recorded, told of, and kept, however it ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from samerun.experiments.progress import Listener
from samerun.experiments.runner import Runner
from samerun.launching.launch import LaunchRequest
from samerun.launching.workspace import Workspace
from samerun.runs.plan import Plan
from samerun.runs.store import Store

from .scripts import Script

REQUEST = LaunchRequest(["python", "train.py"], {"NAME": "a"}, timeout=9.0)


class Heard(Listener):
    def __init__(self) -> None:
        self.events: list[Any] = []

    def stage(self, text: str) -> None:
        self.events.append(text)

    def run_started(self, number: int, of: int, steps: int | None) -> None:
        self.events.append((number, of, steps))

    def progress(self, step: int, loss: float | None, elapsed: float) -> None:
        self.events.append(f"step {step}")

    def run_ended(self, run: str, steps: int, outcome: str, elapsed: float) -> None:
        self.events.append(outcome)


@pytest.fixture
def at(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path, Store(tmp_path / ".samerun"))


def test_a_run_is_told_of_from_its_stage_to_its_end(at: Workspace) -> None:
    heard, script = Heard(), Script(steps=4)
    run = Runner(heard, script.record).run(REQUEST, Plan(), at=at, stage="one", number=2, of=3, steps=4)
    assert heard.events == ["one", (2, 3, 4), "step 4", "finished"]
    assert run.steps == 4


def test_a_stage_is_told_once_and_a_plan_that_stops_the_run_says_how_many_steps_to_expect(
    at: Workspace,
) -> None:
    heard = Heard()
    runner = Runner(heard, Script(steps=9).record)
    for stage in ("one", "one", "two"):
        runner.run(REQUEST, Plan(stop_after=1), at=at, stage=stage, steps=9)
    assert [event for event in heard.events if event in ("one", "two")] == ["one", "two"]
    assert heard.events[1] == (1, 1, 2)


def test_an_interrupted_run_is_told_of_and_kept_before_it_ends_the_experiment(at: Workspace) -> None:
    heard = Heard()
    runner = Runner(heard, Script(interrupted=1).record)
    with pytest.raises(KeyboardInterrupt):
        runner.run(REQUEST, Plan(), at=at, stage="one")
    assert heard.events[-1] == "interrupted"
    assert [run.outcome for run in runner.recorded.values()] == ["interrupted"]


def test_command_variables_timeout_plan_and_place_reach_the_recorder_as_they_are(at: Workspace) -> None:
    script = Script()
    Runner(record=script.record).run(REQUEST, Plan(tier="ops", window=(0, 1)), at=at, stage="one")
    (call,) = script.calls
    assert (call["command"], call["env"], call["timeout"]) == (["python", "train.py"], {"NAME": "a"}, 9.0)
    assert (call["tier"], call["window"], call["cwd"]) == ("ops", (0, 1), at.folder)
