"""The negative control: one flipped bit in one element of one gradient is found, where it was flipped."""

from __future__ import annotations

import pytest

from samerun.comparing.compare_runs import compare

SCRIPT = """
import sys, torch, torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
def flip(gradient):
    if step == 7: gradient.numpy().view("int32")[3, 5] ^= 1
if "flip" in sys.argv: model[2].weight.register_hook(flip)
for step in range(12):
    x, y = torch.randn(32, 8), torch.randint(4, (32,))
    model.zero_grad()
    F.cross_entropy(model(x), y).backward()
    for p in model.parameters(): p.data -= 0.1 * p.grad
"""


@pytest.mark.parametrize("tier", ["steps", pytest.param("ops", marks=pytest.mark.slow)])
def test_one_flipped_bit_of_one_gradient_at_step_7(trainer, tier):
    trainer.script(SCRIPT)
    one, two = (trainer.record("train.py", tier=tier) for _ in range(2))
    flipped = trainer.record("train.py", "flip", tier=tier)
    same = compare(one, two)
    assert (same.verdict, same.difference) == ("same", None)
    difference = compare(one, flipped).difference
    assert difference is not None
    if tier == "steps":
        assert (difference.step, difference.what, difference.name) == (7, "gradients", "2.weight")
    else:  # written past the dispatcher: shown by the gradients, not blamed on the next operation
        assert difference.step == 7
        assert (difference.what, difference.name) == ("gradients", "2.weight")
