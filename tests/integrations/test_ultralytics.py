from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("ultralytics_training.py")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("ultralytics") is None,
        reason="ultralytics is not installed; `make frameworks` installs it",
    ),
]


def train(folder: Path, samerun: str) -> Any:
    command = [sys.executable, str(SCRIPT), str(folder), samerun]
    done = subprocess.run(command, capture_output=True, text=True, timeout=230)
    lines = [line for line in done.stdout.splitlines() if line.startswith("TRAINED ")]
    assert done.returncode == 0 and len(lines) == 1, done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads(lines[0].removeprefix("TRAINED "))


@pytest.mark.timeout(700)
def test_logging_alone_leaves_the_training_as_it_is(tmp_path: Path) -> None:
    plain, logged = train(tmp_path / "plain", "none"), train(tmp_path / "log", "log")
    assert logged["weights"] == plain["weights"]
    assert plain["digests"] == [[], []]
    assert all(value == f"{int(float(value))}" for row in logged["digests"] for value in row)
    assert len({tuple(row) for row in logged["digests"]}) == 2


@pytest.mark.timeout(700)
def test_two_seeded_runs_are_equal_and_another_seed_is_not(tmp_path: Path) -> None:
    first, second = train(tmp_path / "first", "0"), train(tmp_path / "second", "0")
    assert first == second
    other = train(tmp_path / "other", "1")
    assert other["digests"][0] != first["digests"][0]
