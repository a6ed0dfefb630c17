"""Counters and results in a checkpoint, which a resumed run saved with other values."""

from __future__ import annotations

from pathlib import Path

import pytest
from trainer import Trainer

from samerun.experiments.resume.saved_numbers import find_differing_number

SCRIPT = """
import json, sys, time
import numpy as np
import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    model(torch.ones(2, 4)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
began = time.perf_counter()
state = {"model": model.state_dict(), "step": 2, "best_loss": 0.5, "name": "first", "history": [1.0, 0.5]}
state |= {"loops": {"fit": {"epoch": 1, "ready": 7}}, "seconds": 1.5, "rate": time.perf_counter() - began}
average = np.ones(2)
state |= {'means': np.ones(3), 'random': np.random.RandomState(1).get_state()}
if len(sys.argv) > 1:
    exec(sys.argv[1])
torch.save(state, "last.pt")
json.dump({"step": state["step"]}, open("now.json", "w"))
np.savez("average.npz", weight=average)
"""


@pytest.mark.everyday(2)
@pytest.mark.parametrize(
    ("edit", "named"),
    [
        ("", None),
        ("state['step'] = 1", "step in last.pt"),
        (
            "json.dump({'best_accuracy': 0.5}, open('now.json', 'w')); json.dump = print",
            None,
        ),  # of one run alone
        ("state['best_loss'] = 0.25", "best_loss in last.pt"),
        ("state['loops']['fit']['epoch'] = 0", "loops.fit.epoch in last.pt"),
        ("state['loops']['fit']['ready'] = 8", None),  # nothing says what that is
        ("state['history'] = [0.5, 0.25]", None),
        ("state['means'] = np.ones(3) * 2", "array means in last.pt"),
        ("average *= 2", "weight in average.npz"),
        ("state['random'] = np.random.RandomState(0).get_state()", None),  # in a list
        ("state['seconds'] = 2.5", None),
        ("state['name'] = 'second'", None),
        ("del state['step']; state['step_of'] = 3", None),
    ],
)
def test_a_counter_that_is_another_one(tmp_path: Path, edit: str, named: str | None) -> None:
    trainer = Trainer(tmp_path)
    trainer.script(SCRIPT.replace('state["step"]}', "1}"))
    whole, other = trainer.record("train.py"), trainer.record("train.py", edit)
    found = find_differing_number(whole, other)
    assert (found and found[0].name) == named
    if found is not None:
        assert (found[0].what, found[0].phase) == ("written", "end")
        assert found[1].one != found[1].other


@pytest.mark.slow
def test_a_run_that_was_stopped_has_not_saved_its_last(tmp_path: Path) -> None:
    trainer = Trainer(tmp_path)
    trainer.script(SCRIPT)
    whole = trainer.record("train.py")
    assert find_differing_number(whole, trainer.record("train.py", stop_after=0)) is None
