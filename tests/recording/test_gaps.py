"""Writes that go past torch are found where the memory is read next, and told by the line that met them.

Covers `ops/external_writes.py` and `ops/watched_operation.py`.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch
from trainer import Trainer

from samerun.comparing.compare_runs import compare

SCRIPT = """
import ctypes, sys, threading
import numpy as np
import torch, torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)

def numpy(t): t.numpy().view("int32").reshape(-1)[1] ^= 1
def pointer(t): (ctypes.c_int32 * t.numel()).from_address(t.data_ptr())[1] ^= 1
def dlpack(t): np.from_dlpack(t).view("int32").reshape(-1)[1] ^= 1
def thread(t):
    def work(): t.view(-1)[1] += 1e-3
    other = threading.Thread(target=work); other.start(); other.join()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(8, 16), nn.Linear(16, 4)
        self.norm, self.drop = nn.BatchNorm1d(16), nn.Dropout(0.2)
    def forward(self, x):
        hidden = self.drop(self.norm(self.one(x)))
        poke("hidden", hidden)
        return self.two(hidden)

def poke(where, tensor):
    if f"{where}@{step}" in sys.argv[2:]:
        globals()[sys.argv[1]](tensor.detach())

step = -1
model = Net()
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
scale = torch.ones(4)
images = torch.from_numpy(np.random.default_rng(0).normal(size=(4096, 80)).astype("f4"))
for step in range(8):
    rows = images[32 * step : 32 * step + 32]
    x, y = rows[:, 8:16] * 1, torch.randint(4, (32,))
    poke("weight", model.two.weight)
    poke("images", images[32 * step + 40, 8:16])
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x) * scale, y)
    loss.backward()
    poke("gradient", model.one.weight.grad)
    optimizer.step()
    poke("statistics", model.norm.running_mean)
    poke("moments", optimizer.state[model.two.bias]["exp_avg"])
    poke("scale", scale)
torch.save(model.state_dict(), "weights.pt")
"""
EVERYWHERE = ["weight@0", "hidden@1", "gradient@2", "statistics@3", "moments@4", "scale@5", "images@6"]
STEPS = 8
WINDOW = (-1, STEPS)


def line(word: str) -> str:
    """The line of the script that holds these words."""
    (found,) = (number for number, row in enumerate(SCRIPT.splitlines(), 1) if word in row)
    return f"train.py:{found}"


class Training:
    """The script in its folder, and what was recorded of it."""

    def __init__(self, folder):
        self.trainer = Trainer(folder)
        self.trainer.script(SCRIPT)
        self.plain = self.record()
        self.poked = self.record("numpy", *EVERYWHERE)
        self.weights = torch.load(folder / "weights.pt")

    def record(self, *words, window=WINDOW, **options):
        run = self.trainer.record("train.py", *words, tier="ops", window=window, **options)
        assert run.manifest.outcome in ("finished", "stopped"), (run.path / "output.txt").read_text()
        return run


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    return Training(tmp_path_factory.mktemp("gaps"))


@pytest.fixture(scope="module")
def gaps(training):
    first = {}
    for row in training.trainer.rows(training.poked, "gap"):
        first.setdefault(row.step, (row, json.loads(row.detail)))
    return first


@pytest.mark.parametrize(
    ("step", "tensor", "met_by", "met_at", "seen_by"),
    [
        (0, "two.weight", "parameters", "model(x)", "aten.uniform_.default"),
        (1, None, "aten.addmm.default", "self.two(hidden)", "aten.mul.Tensor"),
        (2, "one.weight.grad", "gradients", "optimizer.step()", "aten.mm.default"),
        (4, "Net.norm.running_mean", "aten.native_batch_norm.default", "self.norm(", "buffers"),
        (5, "AdamW: two.bias.exp_avg", "aten.lerp_.Scalar", "optimizer.step()", "optimizer"),
        (6, None, "aten.mul.Tensor", "* scale", "aten.mul.Tensor"),
        (7, None, "aten.mul.Tensor", "rows[:, 8:16]", "aten.mul.Tensor"),
    ],
)
def test_one_bit_written_by_numpy_is_met_where_it_is_read_next(gaps, step, tensor, met_by, met_at, seen_by):
    row, said = gaps[step]
    assert (row.name, row.call_site) == (met_by, line(met_at))
    assert (said["tensor"], said["seen_by"]) == (tensor, seen_by)


def test_nothing_else_is_a_gap(training, gaps):
    assert set(gaps) == {0, 1, 2, 4, 5, 6, 7}
    assert training.trainer.rows(training.plain, "operation")
    assert training.trainer.rows(training.plain, "gap") == []


READ_ONLY = pytest.mark.skipif(torch.__version__ < "2.7", reason="NumPy may not write through its DLPack")


@pytest.mark.parametrize(
    "how",
    [
        "numpy",
        pytest.param("pointer", marks=pytest.mark.slow),
        pytest.param("dlpack", marks=[READ_ONLY, pytest.mark.slow]),
        pytest.param("thread", marks=pytest.mark.slow),
    ],
)
def test_the_gap_is_blamed_and_not_the_operation_after_it(training, how):
    poked = training.record(how, "weight@3", window=(1, 4))
    found = compare(training.plain, poked).difference
    assert (found.step, found.op, found.gap.tensor) == (3, "aten.addmm.default", "two.weight")
    assert found.gap.seen_at == line("    optimizer.step()")
    assert found.gap.met_at == line("self.two(hidden)")
    assert not found.origin.inputs_equal
    assert found.gap.run == "b"


@pytest.mark.slow
def test_weights_written_between_the_last_step_before_the_window_and_its_first(training):
    poked = training.record("numpy", "weight@3", window=(3, 3), stop_after=3)
    gap = compare(training.plain, poked).difference.gap
    seen = gap.tensor, gap.seen_by, gap.seen_at
    assert seen == ("two.weight", "AdamW.step", line("    optimizer.step()"))


def test_a_write_that_both_runs_make_is_no_difference(training):
    again = training.record("numpy", *EVERYWHERE)
    assert compare(training.poked, again).verdict == "same"


def test_the_weights_are_those_of_a_run_without_the_recorder(training):
    folder = training.trainer.folder
    words = [sys.executable, "train.py", "numpy", *EVERYWHERE]
    subprocess.run(words, cwd=folder, check=True, timeout=120)
    for name, value in torch.load(folder / "weights.pt").items():
        assert value.numpy().tobytes() == training.weights[name].numpy().tobytes(), name
