"""Two ranks, killed in mid-epoch and resumed from the framework's own checkpoint.

Of `lightning.py` and `accelerate.py`.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("rank_trainings.py")


def train(name: str, folder: Path, kill_at: int) -> list[Any]:
    """What each rank ended with; [] when they were killed."""
    folder.mkdir(exist_ok=True)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*launcher, str(SCRIPT), name, str(folder), str(kill_at)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert (done.returncode == 0) == (kill_at < 0), done.stdout[-3000:] + done.stderr[-3000:]
    return [json.loads(path.read_text()) for path in sorted(folder.glob("rank*.json"))]


@pytest.mark.slow
@pytest.mark.timeout(800)
@pytest.mark.parametrize("name", ["accelerate", "lightning"])
def test_each_rank_goes_on_with_its_own_generators(name: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed; `make frameworks` installs it")
    whole = train(name, tmp_path / "whole", -1)
    assert train(name, tmp_path / "resumed", 9) == []
    assert train(name, tmp_path / "resumed", -1) == whole
    (one, its_draws), (other, other_draws) = whole
    assert one == other and its_draws != other_draws
