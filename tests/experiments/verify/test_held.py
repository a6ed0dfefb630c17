"""The locked run, where it is at hand, holds more results than its lock does (`held.py`)."""

from __future__ import annotations

from pathlib import Path

import pytest
from trainer import Trainer

from samerun.experiments.lock.build import build_environment
from samerun.experiments.lock.observed import observe
from samerun.experiments.verify.held import Held
from samerun.runs.plan import Control

SCRIPT = """
import json, pickle, time
import numpy as np
import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    model(torch.ones(2, 4)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
found = {"cut": 0.25, "auc": 0.75, "weights": np.ones(3)}
with open("out.pkl", "wb") as file:
    pickle.dump({"name": "first", **found, "seconds": time.perf_counter()}, file)
print("cut at", found["cut"])
"""
OTHERS = ["files.out.pkl: other fractions"]


@pytest.mark.everyday(2)
@pytest.mark.parametrize(
    ("old", "new", "moved", "by_the_lock_alone"),
    [
        ("SGD(model", "SGD( model", [], []),
        ('"cut": 0.25', '"cut": 0.25000001', ["printed.cut at 0.25"], OTHERS),
        ('"seconds"', '"cut": 0.25 + 1e-9, "seconds"', ["written.cut in out.pkl"], OTHERS),
        ('"auc": 0.75', '"auc": 0.7500001', ["files.out.pkl"], ["files.out.pkl"]),
        ("np.ones(3)", "np.ones(3) * 2", ["files.out.pkl"], ["files.out.pkl"]),
        ('"name": "first"', '"name": "second", "more": 3', [], []),
    ],
)
def test_a_result_that_changes(
    tmp_path: Path, old: str, new: str, moved: list[str], by_the_lock_alone: list[str]
) -> None:
    trainer = Trainer(tmp_path)
    trainer.script(SCRIPT)
    locked = trainer.record("train.py", control=Control())
    environment = build_environment(observe(locked, None))
    assert old in SCRIPT
    trainer.script(SCRIPT.replace(old, new))
    now = observe(trainer.record("train.py", control=Control()), None)
    for run, expected in (locked, moved), (None, by_the_lock_alone):
        found = Held("this", environment, run).find_moved(now, None)
        assert [item.quantity for item in found] == expected
    assert Held("this", environment, locked).find_moved(now, 1) == ()
