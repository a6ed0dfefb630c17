"""What differs before the training and reaches nothing is passed over, for the reason behind it."""

from __future__ import annotations

import sys

import pytest
from trainer import Trainer

from samerun.experiments.check.check import check
from samerun.experiments.request import Request

# As a library that builds its model twice, the first time to count its strides, before it seeds.
SCRIPT = """
import os, random
from pathlib import Path
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        path = str(Path(f"{index}.txt").resolve())
        return {"path": path, "x": torch.randn(4)}

def build():
    model = nn.Sequential(nn.Linear(4, 2))
    model(torch.zeros(1, 4))
    return model

first = build()
torch.manual_seed(int(os.environ["SEED"]))
model = build()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for batch in DataLoader(Numbers(), batch_size=4):
    optimizer.zero_grad()
    model(batch["x"]).square().mean().backward()
    optimizer.step()
"""


@pytest.mark.slow
def test_a_model_that_is_made_again_after_the_seed_is_not_why_they_differ(trainer: Trainer) -> None:
    trainer.script(SCRIPT)
    trainer.script(f"export SEED=$RANDOM\n{sys.executable} train.py\n", "run.sh")
    result = check(Request(("bash", "run.sh"), trainer.folder, trainer.store))
    found = [(cause.source, cause.call_site, cause.confirmed) for cause in result.causes]
    assert found == [("environment", "run.sh:1", True)]
    assert any("without effect" in note for note in result.notes)


# What is read of the clock is freed, and the memory that nobody fills gets it: the clock is not the fault.
FREED = """
import time
import torch

torch.manual_seed(0)

def mean_of_times(count):
    return torch.tensor([time.time() % 1000 for _ in range(count)]).mean().item()

def make_statistics(width):
    return torch.empty(width)

model = torch.nn.Linear(512, 4)
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
data, target = torch.randn(8, 512), torch.randn(8, 4)
assert mean_of_times(512) >= 0
running = make_statistics(512)
for _ in range(2):
    scale = 0.9 * running + 0.1 * data.abs().mean(0)
    loss = (model(data / (1 + scale.abs())) - target).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running = scale.detach()
"""


@pytest.mark.slow
def test_memory_that_is_read_unwritten_is_the_cause_and_not_what_was_freed_there(trainer: Trainer) -> None:
    trainer.script(FREED)
    result = check(Request((sys.executable, "train.py"), trainer.folder, trainer.store))
    found = [(cause.source, cause.call_site, cause.confirmed) for cause in result.causes]
    assert found == [("uninitialized-memory", "train.py:11", True)]
    assert any("train.py:8 gives other values in each run, which is not why" in note for note in result.notes)
