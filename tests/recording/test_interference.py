"""Zero interference: recording, at either tier, leaves the trained weights as they are without it."""

from __future__ import annotations

import functools
import subprocess
import sys

import pytest
import torch
from trainer import EXAMPLES, Trainer

# Seeds everything, then runs the example as it is: an unseeded one differs from itself.
SEEDED = """
import random, runpy, sys
import numpy as np, torch
random.seed(1); np.random.seed(1); torch.manual_seed(1); torch.set_num_threads(2)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
COMMANDS = {
    "digits_cnn": ["--epochs", "1", "--workers", "2"],
    "tiny_gpt": ["--steps", "8"],
    "scatter_gnn": ["--steps", "8", "--threads", "1"],  # at two threads it differs from itself
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """plain(name): the weights of this example trained without samerun, made once."""

    @functools.cache
    def train(name):
        folder = tmp_path_factory.mktemp(name)
        (folder / "seeded.py").write_text(SEEDED)
        command = [
            sys.executable,
            "seeded.py",
            str(EXAMPLES / f"{name}.py"),
            *COMMANDS[name],
            "--save",
            "weights.pt",
        ]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=120)
        return torch.load(folder / "weights.pt")

    return train


@pytest.mark.everyday(1)
@pytest.mark.parametrize(
    ("name", "tier"),
    [
        ("scatter_gnn", "steps"),
        ("tiny_gpt", "ops"),
        # A training with workers, test_ledger.py has in everyday.
        *(pytest.param("digits_cnn", tier, marks=pytest.mark.slow) for tier in ("steps", "ops")),
        pytest.param("scatter_gnn", "ops", marks=pytest.mark.slow),
        pytest.param("tiny_gpt", "steps", marks=pytest.mark.slow),
    ],
)
def test_recording_moves_no_bit(trainer: Trainer, output, plain, name, tier):
    trainer.script(SEEDED, "seeded.py")
    script = str(EXAMPLES / f"{name}.py")
    run = trainer.record("seeded.py", script, *COMMANDS[name], "--save", "weights.pt", tier=tier)
    assert run.manifest.outcome == "finished", output(run)
    assert trainer.rows(run, "operation" if tier == "ops" else "parameters")
    weights = torch.load(trainer.folder / "weights.pt")
    assert weights.keys() == plain(name).keys()
    for key, value in weights.items():
        assert value.numpy().tobytes() == plain(name)[key].numpy().tobytes(), key


# Counts every torch function that a function mode of the script's own sees.
COUNTED = """
import torch
from torch.overrides import TorchFunctionMode

class Count(TorchFunctionMode):
    seen = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        Count.seen += 1
        return function(*args, **(kwargs or {}))

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters())
with Count():
    for _ in range(4):
        loss = model(torch.randn(6, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print("seen", Count.seen)
"""


@pytest.mark.slow
def test_a_function_mode_sees_what_it_sees_without_the_recorder(trainer: Trainer, output):
    path = trainer.script(COUNTED)
    plain = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=120, check=True)
    run = trainer.record("train.py")
    assert len(trainer.rows(run, "parameters")) >= 4
    assert plain.stdout in output(run)
