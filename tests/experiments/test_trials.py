"""The runs of one command end where the request says, unless the plan of a run ends it itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.experiments.request import Request
from samerun.experiments.runner import Runner
from samerun.experiments.trials import Trials
from samerun.runs.plan import Plan
from samerun.runs.store import Store

from .scripts import Script


@pytest.mark.parametrize(
    ("steps", "plan", "stop"),
    [
        (4, Plan(), 3),
        (4, Plan(tier="ops", stop_after=1), 1),
        (None, Plan(), None),
        (None, Plan(stop_after=1), 1),
    ],
)
def test_steps_end_each_run_that_its_plan_does_not_end(
    steps: int | None, plan: Plan, stop: int | None, tmp_path: Path
) -> None:
    script = Script(steps=9)
    request = Request(("python", "train.py"), tmp_path, Store(tmp_path / ".samerun"), steps=steps)
    trials = Trials(request, Runner(record=script.record))
    trials.record("one", 1, plan)
    trials.compare("two", 2, plan)
    assert [call["stop_after"] for call in script.calls] == [stop] * 3
