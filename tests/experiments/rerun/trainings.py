"""Trainings with nothing seeded, recorded as they are and run again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from samerun.experiments.rerun.rerun import RerunRequest, rerun
from samerun.experiments.rerun.result import RerunResult
from samerun.launching.launch import LaunchRequest
from samerun.launching.run import record
from samerun.launching.workspace import Workspace
from samerun.runs.plan import Plan
from samerun.runs.store import Run, Store

STEP = """
    loss = (model(x) * scale).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
# Nothing is seeded, and everything matters: initial weights, dropout, orders, workers, clock, uuids, sets.
ALL = f"""\
import os, random, time, uuid
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

class Data(Dataset):
    def __len__(self):
        return 32
    def __getitem__(self, index):
        return torch.randn(8) * random.random() + np.random.rand()

def main():
    torch.set_num_threads(1)
    scale = 1 + int(time.time() * 1e6) % 97 / 100 + len(list({{"a", "bb", "ccc", "dddd"}})[0])
    scale += uuid.uuid4().int % 89 / 100 + int.from_bytes(os.urandom(4), "big") % 83 / 100
    scale += np.random.default_rng().random() + random.Random().random()
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.3), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for epoch in range(2):
        for x in DataLoader(Data(), 8, shuffle=True, num_workers=2):
            x = x.float()
{STEP.replace(chr(10) + "    ", chr(10) + "            ").rstrip(" ")}
    print(loss.item(), os.environ.get("PYTHONHASHSEED"))

if __name__ == "__main__":
    main()
"""


def plain(scale: str, imports: str = "os", loop: str = "for step in range(3):", before: str = "") -> str:
    """A training of one model on unseeded numbers; `scale` is what else its loss depends on."""
    return f"""\
import {imports}, torch
torch.set_num_threads(1)
{before}
scale = {scale}
model = torch.nn.Linear(8, 1)
{loop}
    x = torch.randn(4, 8)
    (model(x) * scale).pow(2).mean().backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 1e-3 * p.grad, None
"""


def command(folder: Path, text: str, *launcher: str) -> list[str]:
    (folder / "train.py").write_text(text)
    return [sys.executable, *launcher, "train.py"]


def store(folder: Path) -> Store:
    return Store(folder / ".samerun")


def run_once(folder: Path, words: list[str], **plan: Any) -> Run:
    return record(LaunchRequest(words), Plan(**plan), Workspace(folder, store(folder)))


def recorded(folder: Path, text: str, *launcher: str, **how: Any) -> Run:
    run = run_once(folder, command(folder, text, *launcher), **how)
    assert run.outcome == "finished", (run.path / "output.txt").read_text()
    return run


def again(run: Run, folder: Path, **asked: Any) -> RerunResult:
    return rerun(RerunRequest(run, run.manifest.command, folder, store(folder), **asked))
