"""Differences that a comparison of losses would miss: each is found where it begins."""

from __future__ import annotations

import functools

import pytest

from samerun.comparing.compare_runs import compare

SCRIPT = """
import sys, torch, torch.nn.functional as F
from torch import nn
what = sys.argv[1] if len(sys.argv) > 1 else ""
torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 4))
optimizer = torch.optim.Adam(model.parameters(), 1e-3) if "Adam" in sys.argv else None
test_x = torch.randn(64, 8)
for step in range(6):
    x, y = torch.randn(32, 8), torch.randint(4, (32,))
    if what == "ulp" and step == 4: x[3, 5] = torch.nextafter(x[3, 5], torch.tensor(10.0))
    if what == "extra" and step == 3: x = x + 0
    model.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    if optimizer: optimizer.step()
    else:
        for p in model.parameters(): p.data -= 0.1 * p.grad
    if what == "buffer" and step == 2: model[1].num_batches_tracked += 1
    if what == "weights" and step == 5:
        with torch.no_grad(): model[4].bias[0] = torch.nextafter(model[4].bias[0], torch.tensor(10.0))
    if step % 3 == 2:
        model.eval()
        with torch.no_grad():
            seen = test_x + (torch.full_like(test_x, 1e-6) if what == "evaluation" and step == 2 else 0)
            model(seen)
        model.train()
torch.save(model.state_dict(), "weights.pt")
"""
# what is planted → (step, phase, what, name) at tier steps; None: the bits are the same
PLANTED = {
    "": None,
    "ulp": (4, "data", "input", "Sequential"),
    "extra": None,  # adds zero: not one bit that training sees moves
    "buffer": (3, "optimizer", "buffers", "Sequential.1.num_batches_tracked"),
    "evaluation": (2, "evaluation", "input", "Sequential"),
    "weights": (5, "evaluation", "output", "Sequential"),
}


def most_are_quick(*slow):
    return [pytest.param(what, marks=pytest.mark.slow) if what in slow else what for what in PLANTED]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    from trainer import Trainer

    trainer = Trainer(tmp_path_factory.mktemp("plain"))
    trainer.script(SCRIPT)
    return functools.cache(lambda tier, *words: trainer.record("train.py", "", *words, tier=tier))


@pytest.mark.parametrize("what", most_are_quick("ulp", "extra", "weights", "buffer"))
def test_found_at_tier_steps(trainer, plain, what):
    trainer.script(SCRIPT)
    # An optimizer's step is over when it returns, one made by hand when the model is called again.
    words = ["Adam"] if what in ("buffer", "weights") else []
    comparison = compare(plain("steps", *words), trainer.record("train.py", what, *words))
    planted = PLANTED[what]
    if planted is None:
        assert (comparison.verdict, comparison.difference) == ("same", None)
    else:
        found = comparison.difference
        assert (found.step, found.phase, found.what, found.name) == planted


def test_an_extra_operation_is_control_flow_at_tier_ops(trainer, plain):
    trainer.script(SCRIPT)
    found = compare(plain("ops"), trainer.record("train.py", "extra", tier="ops")).difference
    assert (found.step, found.kind, found.what, found.op) == (3, "flow", "operation", "aten.add.Tensor")
    assert found.call_site == "train.py:13"


def test_one_ulp_is_traced_to_its_line_at_tier_ops(trainer, plain):
    trainer.script(SCRIPT)
    found = compare(plain("ops"), trainer.record("train.py", "ulp", tier="ops")).difference
    assert found.step == 3  # which goes on, without an optimizer of torch's, until the model is called again
    assert found.call_site == "train.py:12"
