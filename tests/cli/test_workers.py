"""DataLoader workers, forked and spawned: the same under control, and different without."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .command import called, samerun

TRAIN = """\
import random, sys, torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Noisy(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return torch.full((8,), random.random() + index)

if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    loader = DataLoader(Noisy(), 4, num_workers=1, multiprocessing_context=sys.argv[1], shuffle=True)
    if "unseeded" in sys.argv:
        torch.seed()
    for batch in loader:
        loss = model(batch).pow(2).mean()
        loss.backward()
        for p in model.parameters():
            p.data, p.grad = p.data - 0.1 * p.grad, None
"""


@pytest.mark.parametrize("start", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_workers_are_the_same_under_control(tmp_path: Path, start: str) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    command = [sys.executable, "train.py", start, "unseeded"]
    done = called("check", "--controlled", "--", *command, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✓ same — 2 runs, 2 steps, 1 rank: every batch" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_differ_without(tmp_path: Path, start: str) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    for _ in range(2):
        command = [sys.executable, "train.py", start, "unseeded"]
        samerun("run", "--mode", "off", "--", *command, cwd=tmp_path)
    done = called("diff", "last~1", "last", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "batch" in done.stdout
