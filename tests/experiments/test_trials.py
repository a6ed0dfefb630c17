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


@pytest.mark.parametrize(("late", "made"), [(True, 6), (False, 2)])
def test_where_luck_is_feared_runs_that_part_later_are_no_end(late: bool, made: int, tmp_path: Path) -> None:
    """One pair of runs that parted later was taken for six."""
    script = Script(steps=5, kernel=3)
    request = Request(("python", "train.py"), tmp_path, Store(tmp_path / ".samerun"))
    trials = Trials(request, Runner(record=script.record))
    found = trials.compare("held", 6, Plan(), goes_on=lambda each: late and each.difference.step == 3)
    assert found.difference is not None and found.difference.step == 3
    assert len(script.calls) == made


def test_the_first_that_parts_too_early_ends_it(tmp_path: Path) -> None:
    script = Script(steps=5, kernel=3, flips=frozenset({(4, 1, "loss")}))
    request = Request(("python", "train.py"), tmp_path, Store(tmp_path / ".samerun"))
    trials = Trials(request, Runner(record=script.record))
    found = trials.compare("held", 6, Plan(), goes_on=lambda each: each.difference.step == 3)
    assert found.difference is not None and found.difference.step == 1
    assert len(script.calls) == 4
