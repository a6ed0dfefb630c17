"""How often runs are recorded again around the step where they part."""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.comparing.compare import compare
from samerun.experiments import closer
from samerun.experiments.closer import look_closer
from samerun.experiments.listener import Listener
from samerun.experiments.request import Request
from samerun.experiments.trials import Trials
from samerun.runs.plan import Control
from samerun.runs.store import Store

from .scripts import Script


@pytest.mark.parametrize(("seen", "looks"), [(True, 2), (False, 3)])
def test_a_difference_whose_reason_was_seen_need_not_come_back(
    seen: bool, looks: int, tmp_path: Path, monkeypatch
) -> None:
    """Seven runs looked for the step at which a generator that feeds a rare branch would part again."""
    monkeypatch.setattr(closer, "is_seen", lambda difference: seen)
    script = Script(flips=frozenset({(2, 2, "gradients")}))
    trials = Trials(
        Request(("python", "train.py"), tmp_path, Store(tmp_path / ".samerun")), Listener(), script.record
    )
    one, other = trials.record("recording", 2, control=None)
    first = compare(one, other).difference
    assert first is not None and first.step == 2
    found = look_closer(trials, first, (one.id, other.id), None)
    assert len(script.calls) == 2 + looks
    assert (found.reproduced, found.difference) == (seen, first)
    assert (found.note is None) is seen
    assert found.window == (None if seen else (1, 2))


@pytest.mark.parametrize("at", [None, (1, 2)])
def test_trials_without_a_window_record_no_operations(at: tuple[int, int] | None, tmp_path: Path) -> None:
    """Without a window, tier ops records all steps."""
    script = Script()
    request = Request(("python", "train.py"), tmp_path, Store(tmp_path / ".samerun"))
    trials = Trials(request, Listener(), script.record)
    trials.compare("confirming", 2, control=Control(only=("clock",)), window=at, stop_after=None)
    assert [call["tier"] for call in script.calls] == ["steps" if at is None else "ops"] * 2


def test_a_difference_whose_reason_was_seen_is_told_by_its_operation_where_it_comes_back(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(closer, "is_seen", lambda difference: True)
    script = Script(from_step={"python-random": 2})
    trials = Trials(
        Request(("python", "train.py"), tmp_path, Store(tmp_path / ".samerun")), Listener(), script.record
    )
    one, other = trials.record("recording", 2, control=None)
    first = compare(one, other).difference
    assert first is not None
    found = look_closer(trials, first, (one.id, other.id), None)
    assert (found.reproduced, found.window, len(script.calls)) == (True, (1, 2), 4)
    assert found.pair == tuple(sorted(trials.recorded)[2:])
