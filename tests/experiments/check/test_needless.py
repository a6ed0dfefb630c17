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
