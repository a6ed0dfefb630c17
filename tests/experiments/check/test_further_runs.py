"""Covers `further_runs.py`: runs that agree are unsettled on purpose where something may go another way."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from trainer import Trainer

from samerun.experiments.check.check import check
from samerun.experiments.check.result import CheckResult
from samerun.experiments.request import Request
from samerun.experiments.runner import Runner
from samerun.report.text.causes import describe
from samerun.report.text.plain_text import render_text
from samerun.runs.store import Store

from ..scripts import Script

LATE, SWITCHED = {"thread-scheduling": {"late": 0.05}}, {"thread-scheduling": {"switch": 1e-5}}
# The thread has done its work by then, but for one that begins 50 ms late. One sleep, not many short ones:
# on a busy machine each of them would end late, and all together after that thread.
RACE = """
import threading, time
import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
ready = []
thread = threading.Thread(target=lambda: ready.append(1.5))
thread.start()
time.sleep(0.02)
scale = sum(ready) or 1.0
thread.join()
for step in range(3):
    loss = model(torch.ones(2, 4) * scale).square().mean()
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.01 * parameter.grad
    model.zero_grad()
print(loss.item())
"""


def checked(script: Script, folder: Path, **asked: Any) -> CheckResult:
    request = Request(("python", "train.py"), folder, Store(folder / ".samerun"), up_to=5, **asked)
    return check(request, Runner(None, script.record))


def test_further_runs_are_unsettled_one_way_each_and_then_left_alone(tmp_path: Path) -> None:
    script = Script(arrivals="aaaaa")
    assert checked(script, tmp_path).verdict == "same"
    assert [call["vary"] for call in script.calls] == [{}, {}, LATE, SWITCHED, {}]


def test_what_an_unsettled_run_differs_by_is_proved_by_one_more_each_way(tmp_path: Path) -> None:
    script = Script(arrivals="aabab" + "ab" * 9)
    result = checked(script, tmp_path)
    assert [call["vary"] for call in script.calls[:5]] == [{}, {}, LATE, {}, LATE]
    (cause,) = result.causes
    assert (result.verdict, cause.source, cause.confirmed) == ("differs", "thread-scheduling", True)
    assert cause.unsettled == "threads begun 50 or 100 ms late"
    assert cause.to_json()["unsettled"] == cause.unsettled


@pytest.mark.parametrize("arrivals", ["aabb", "aabaa"])
def test_nothing_is_proved_where_one_of_those_does_otherwise(tmp_path: Path, arrivals: str) -> None:
    result = checked(Script(arrivals=arrivals + "a" * 99), tmp_path)
    assert result.verdict == "differs"
    assert result.causes[0].source == "thread-scheduling"
    assert not any(cause.confirmed for cause in result.causes)


def test_a_thread_that_seldom_comes_late_is_found_and_its_line_named(tmp_path: Path) -> None:
    trainer = Trainer(tmp_path)
    trainer.script(RACE)
    result = check(Request((sys.executable, "train.py"), tmp_path, trainer.store, up_to=5))
    (cause,) = result.causes
    assert (result.verdict, result.verdicts) == ("differs", ("same", "differs"))
    assert (cause.source, cause.confirmed, cause.call_site) == ("thread-scheduling", True, "train.py:8")
    said = " ".join(render_text(lambda console: console.print(*describe(result)), 200).split())
    assert "runs with threads begun 50 or 100 ms late differ, and those left alone agree" in said


@pytest.mark.slow
def test_a_thread_that_is_waited_for_may_come_late(tmp_path: Path) -> None:
    trainer = Trainer(tmp_path)
    trainer.script(RACE.replace("time.sleep(0.02)", "thread.join()"))
    result = check(Request((sys.executable, "train.py"), tmp_path, trainer.store, up_to=5))
    assert (result.verdict, len(result.runs)) == ("same", 5)
