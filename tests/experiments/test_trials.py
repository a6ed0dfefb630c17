"""Further runs for a trial."""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.experiments.listener import Listener
from samerun.experiments.request import Request
from samerun.experiments.trials import Trials
from samerun.runs.plan import Control
from samerun.runs.store import Store

from .scripts import Script


@pytest.mark.parametrize("at", [None, (1, 2)])
def test_trials_without_a_window_record_no_operations(at: tuple[int, int] | None, tmp_path: Path) -> None:
    """Without a window, tier ops records all steps."""
    script = Script()
    request = Request(("python", "train.py"), tmp_path, Store(tmp_path / ".samerun"))
    trials = Trials(request, Listener(), script.record)
    trials.compare("confirming", 2, control=Control(only=("clock",)), window=at, stop_after=None)
    assert [call["tier"] for call in script.calls] == ["steps" if at is None else "ops"] * 2
