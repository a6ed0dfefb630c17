"""How to get the line of a difference that has none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sources.differences import batch

from samerun.experiments.check.first_runs import FIRST_WINDOW
from samerun.experiments.check.line_hint import describe_line_hint
from samerun.explaining import explained as module
from samerun.explaining.explained import Explained
from samerun.launching.launch import LaunchRequest
from samerun.launching.workspace import Workspace
from samerun.runs.difference import Difference, Evidence
from samerun.runs.plan import Plan
from samerun.runs.store import Run, Store

from ..scripts import Script

CODE = Evidence("code", 0.7, "train.py changed", of_other_program=True)
HERE = replace(batch(), step=0, phase="setup", what="parameters", call_site=None, origin=None)


def made(folder: Path, plan: Plan) -> Run:
    return Script().record(LaunchRequest(["python", "a.py"]), plan, Workspace(folder, Store(folder / "runs")))


@pytest.fixture
def say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    whole, close = (made(tmp_path, plan) for plan in (Plan(), Plan(tier="ops", window=FIRST_WINDOW)))

    def said(difference: Difference, *evidence: Evidence, closely: bool = False) -> str | None:
        monkeypatch.setattr(module, "explain", lambda difference: (list(evidence), []))
        return describe_line_hint(Explained(difference), *((close, close) if closely else (whole, close)))

    return said


def test_between_two_states_of_the_code_check_in_each_has_the_first_lines(say) -> None:
    assert "`samerun check` in each state" in say(HERE, CODE)
    assert say(HERE, CODE, closely=True) is None
    assert say(replace(HERE, step=3), CODE) == (
        "no line is known: operations are recorded up to the first step alone"
    )


def test_of_one_state_check_looks_closer(say) -> None:
    assert "`samerun check` looks closer" in say(replace(HERE, step=3), replace(CODE, of_other_program=False))


@pytest.mark.parametrize(
    "known", [{"call_site": "a.py:1"}, {"other_site": "a.py:1"}, {"what": "printed", "phase": "end"}]
)
def test_a_line_that_is_known_and_a_result_need_none(known: dict[str, str], say) -> None:
    assert say(replace(HERE, **known), CODE) is None
