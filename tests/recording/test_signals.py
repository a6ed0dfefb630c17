"""What the handler of a signal raises is the script's, wherever it strikes: time limits must hold."""

from __future__ import annotations

import pytest

from samerun.runs.recorder_errors import read_complaints

SCRIPT = """
import random, signal
import torch
from torch import nn

class TimeUp(Exception):
    pass

def up(number, frame):
    global struck
    if not frame.f_globals["__name__"].startswith("samerun.re"):
        signal.setitimer(signal.ITIMER_REAL, 0.0002)  # torch itself does not stand it everywhere
        return
    struck += 1
    raise TimeUp

signal.signal(signal.SIGALRM, up)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.SGD(net.parameters(), 0.1)
x = torch.randn(4, 8)
late = struck = 0
def step():
    random.random()
    opt.zero_grad()
    net(x + torch.rand(4, 8)).square().mean().backward()
    opt.step()

for turn in range(60):
    step(), step()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.005 + turn * 0.00013)
        for _ in range(5000):  # it strikes in one of the first
            step()
        late += 1
    except TimeUp:
        pass
print("late", late, "struck", struck)
"""


@pytest.mark.parametrize("tier", [pytest.param("steps", marks=pytest.mark.slow), "ops"])
def test_a_time_limit_holds_wherever_it_strikes(trainer, output, tier):
    """Most strike in code of the recorder, which kept what they raised to itself, and broke off."""
    trainer.script(SCRIPT)
    run = trainer.record("train.py", tier=tier)
    assert (run.outcome, output(run).split()[-4:]) == ("finished", ["late", "0", "struck", "60"])
    assert read_complaints(run.path) == []
    assert run.steps >= 120  # two of each turn, and what was made before it struck
