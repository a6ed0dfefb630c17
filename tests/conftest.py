"""What every test shares: a folder to train in, and the recorder around a real command."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from trainer import Trainer

from samerun.runs.store import Run
from samerun.sources.cpu_isa import PINNED

# Several trainings run side by side: idle threads must sleep, not spin.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# A shell that starts the tests in the background has them ignore Ctrl-C, and whatever they start too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # started with nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def trainer(tmp_path: Path) -> Trainer:
    return Trainer(tmp_path)


@pytest.fixture
def output() -> Callable[[Run], str]:
    return lambda run: (run.path / "output.txt").read_text()


@pytest.fixture
def nothing_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the variables that mode portable sets: a machine may come with others."""
    for name in (*PINNED, "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
