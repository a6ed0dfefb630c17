"""`samerun check` on real commands, from end to end."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from .command import samerun

TRAIN = """\
import random
import torch
from torch import nn

torch.manual_seed(0)
{seed}
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    scale = random.random()
    loss = model(torch.ones(4, 8) * scale).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_an_unseeded_random_is_found_explained_and_confirmed(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN.format(seed=""))
    done = samerun("check", "--json", "out.json", "--", sys.executable, "train.py", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    result = json.loads((tmp_path / "out.json").read_text())
    assert result["verdict"] == "differs"
    assert result["first_difference"]["step"] == 0
    assert [(cause["source"], cause["confirmed"]) for cause in result["causes"]] == [("python-random", True)]
    assert "random.seed" in done.stdout


@pytest.mark.slow
def test_the_fix_it_names_makes_the_runs_the_same(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN.format(seed="random.seed(0)"))
    done = samerun("check", sys.executable, "train.py", "--lr", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("✓ same — 2 runs, 3 steps, 1 rank")


def test_a_command_without_torch_is_unknown(tmp_path: Path) -> None:
    done = samerun("check", "--", sys.executable, "-c", "print(1)", cwd=tmp_path)
    assert done.returncode == 3
    assert "torch was never imported" in done.stdout
    assert "what the runs printed is the same" in done.stdout


def test_a_command_that_fails_is_unknown_with_its_last_lines(tmp_path: Path) -> None:
    done = samerun("check", "--", sys.executable, "-c", "raise ValueError('no data')", cwd=tmp_path)
    assert done.returncode == 3
    assert "failed in every run: exit code 1" in done.stdout.replace("\n", " ")
    assert "ValueError: no data" in done.stdout
