"""On a CUDA device: digests, recording and control. Run by `make gpu`; collected nowhere else."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from trainer import Trainer

from samerun.digest import digest_tensor
from samerun.digest.device import DeviceSlots

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]

TRAIN = """
import sys, torch, torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
torch.backends.cudnn.deterministic = True
layers = nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(), nn.Linear(14400, 10)
model = nn.Sequential(*layers).cuda()
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
x, y = torch.randn(32, 3, 32, 32, device="cuda"), torch.randint(10, (32,), device="cuda")
for step in range(6):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    if step == 3 and "flip" in sys.argv:
        with torch.no_grad(): model[0].bias.grad.view(torch.int32)[5] ^= 1
    optimizer.step()
torch.save({key: value.cpu() for key, value in model.state_dict().items()}, "weights.pt")
"""


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.uint8])
@pytest.mark.parametrize("size", [0, 1, 7, 1000, 1 << 20])
def test_the_kernel_equals_the_plain_formulation(dtype, size):
    tensor = (torch.randn(size, device="cuda") * 100).to(dtype)
    plain = DeviceSlots(torch.device("cpu"))
    slot = plain.add(tensor.cpu())
    assert plain.read()[slot] == digest_tensor(tensor)


@pytest.mark.parametrize("capacity", [4, 4096])
def test_many_tensors_have_the_digests_of_each(capacity):
    sizes = (1, 2, 3, 7, 1000, 1025, 1 << 20, (1 << 23) + 3, 5, 0)
    tensors = [torch.randn(size, device="cuda") for size in sizes]
    tensors += [tensor.bfloat16() for tensor in tensors] + [tensors[4][1:], tensors[6].view(1024, -1).t()]
    slots = DeviceSlots("cuda", capacity=capacity)
    for _ in range(2):
        added = slots.add_all(tensors)
        before = slots.read()
        assert [before[number] for number in added] == [digest_tensor(tensor) for tensor in tensors]
    assert slots._add_many is not None  # it was launched, and did not fail
    tensors[5].view(torch.int32)[1024] ^= 1
    added = slots.add_all(tensors)
    found = slots.read()
    assert [n for n in range(len(tensors)) if found[added[n]] != before[n]] == [5]


def test_one_bit_anywhere_is_seen():
    tensor = torch.randn(1 << 22, device="cuda")
    before = digest_tensor(tensor)
    for at in (0, 1, 12345, (1 << 22) - 1):
        tensor.view(torch.int32)[at] ^= 1
        assert digest_tensor(tensor) != before
        tensor.view(torch.int32)[at] ^= 1
    assert digest_tensor(tensor) == before


@pytest.mark.parametrize("tier", ["steps", "ops"])
def test_recording_moves_no_bit_and_waits_for_nothing_else(trainer: Trainer, tier, output):
    trainer.script(TRAIN)
    subprocess.run([sys.executable, "train.py"], cwd=trainer.folder, check=True)
    weights = [torch.load(trainer.folder / "weights.pt")]
    run = trainer.record("train.py", tier=tier)
    assert run.manifest.outcome == "finished", output(run)
    weights.append(torch.load(trainer.folder / "weights.pt"))
    assert all(torch.equal(weights[0][key], weights[1][key]) for key in weights[0])
    assert len(trainer.rows(run, "gradients")) == 6
    assert all(row.digest is not None for row in trainer.rows(run, "gradients"))


def test_one_flipped_bit_is_found(trainer: Trainer):
    from samerun.comparing.compare_runs import compare
    from samerun.runs.plan import Control

    trainer.script(TRAIN)
    control = Control(seed=0)
    plain = trainer.record("train.py", control=control)
    again = trainer.record("train.py", control=control)
    flipped = trainer.record("train.py", "flip", control=control)
    assert compare(plain, again).verdict == "same"
    difference = compare(plain, flipped).difference
    assert (difference.step, difference.what, difference.name) == (3, "gradients", "0.bias")
