"""What every test shares: a folder to train in, and the recorder around a real command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from trainer import Trainer

from samerun.runs.store import Run


@pytest.fixture
def trainer(tmp_path: Path) -> Trainer:
    return Trainer(tmp_path)


@pytest.fixture
def output() -> Callable[[Run], str]:
    return lambda run: (run.path / "output.txt").read_text()
