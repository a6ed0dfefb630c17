"""Tensors on a device: their digests come later, and no record is lost or moved by the wait.

There is no device here: the recorder is told that host tensors are on one, and digests them as it would.

Covers `trace/pending_record.py`, `trace/pending_operation.py` and `trace/sink.py`.
"""

from __future__ import annotations

import pytest

from samerun.comparing.compare_runs import compare

SCRIPT = """
import sys, torch, torch.nn.functional as F
from torch import nn
from samerun.recording.trace import tensor_digests
if "host" not in sys.argv: tensor_digests.is_on_host = lambda tensor: False
torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(5):
    x, y = torch.randn(32, 8), torch.randint(4, (32,))
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    if step == 3 and "flip" in sys.argv:
        model[2].weight.grad.numpy().view("int32")[3, 5] ^= 1
    optimizer.step()
"""


def order(rows):
    return [(row.step, row.phase, row.what, row.name) for row in rows if row.what not in ("note", "names")]


@pytest.mark.slow
@pytest.mark.parametrize("tier", [pytest.param("steps", marks=pytest.mark.slow), "ops"])
def test_the_records_are_those_of_the_host(trainer, output, tier):
    trainer.script(SCRIPT)
    device, again = (trainer.record("train.py", tier=tier) for _ in range(2))
    host = trainer.record("train.py", "host", tier=tier)
    flipped = trainer.record("train.py", "flip", tier=tier)
    rows = trainer.rows(device)
    assert device.manifest.outcome == "finished", output(device)
    assert order(rows) == order(trainer.rows(host))
    assert [row.value for row in rows if row.what == "loss"] == [
        row.value for row in trainer.rows(host, "loss")
    ]
    assert compare(device, again).verdict == "same"
    found = compare(device, flipped).difference
    assert (found.step, found.what, found.name) == (3, "gradients", "2.weight")
    apart = compare(device, host)
    assert apart.verdict == "unknown"
    assert "digested by different algorithms" in apart.reason


@pytest.mark.slow
def test_what_an_operation_was_given_does_not_depend_on_when_digests_came(trainer):
    """Two runs hand their records to the disk at other times: a clock decides that."""
    trainer.script("""
import sys, torch
from samerun.recording import recorder
from samerun.recording.trace import tensor_digests
tensor_digests.is_on_host = lambda tensor: tensor.dtype is not torch.float32
recorder._FLUSH_S = -1.0 if "often" in sys.argv else 1e9
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(3):
    order = torch.randperm(4) + 1
    top, at = order.max(dim=0)
    model(torch.randn(4, 3)[order - 1]).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
""")
    often, seldom = (trainer.record("train.py", when, tier="ops") for when in ("often", "seldom"))
    assert compare(often, seldom).verdict == "same"


@pytest.mark.slow
def test_a_gap_is_told_by_what_meets_it(trainer):
    trainer.script(SCRIPT)
    plain, again = (trainer.record("train.py", tier="ops", window=(-1, 9)) for _ in range(2))
    flipped = trainer.record("train.py", "flip", tier="ops", window=(-1, 9))
    assert trainer.rows(plain, "gap") == []
    assert compare(plain, again).verdict == "same"
    (gap,) = trainer.rows(flipped, "gap")
    assert (gap.step, gap.name) == (3, "gradients")
    found = compare(plain, flipped).difference
    assert (found.what, found.name) == ("gradients", "2.weight")
    assert (found.gap.met_by, found.gap.tensor, found.gap.run) == ("gradients", "2.weight.grad", "b")
