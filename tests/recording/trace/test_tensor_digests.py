"""Tensors that cannot be read, or that are inside a transform, do not end the recording or change the run."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from samerun.comparing.compare_runs import compare

SCRIPT = """
import os, tempfile, torch
from torch import nn
from torch.utils._pytree import tree_map
from torch.utils._python_dispatch import TorchDispatchMode
torch.manual_seed(0)

class Shell(torch.Tensor):
    "A wrapper with no way to be opened: its values lie in a list."
    @staticmethod
    def __new__(cls, values):
        return torch.Tensor._make_wrapper_subclass(
            cls, values.size(), dtype=values.dtype, requires_grad=values.requires_grad)
    def __init__(self, values): self.held = [values]
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        print("shell", func)
        def inner(t): return t.held[0] if isinstance(t, Shell) else t
        def outer(t): return Shell(t) if isinstance(t, torch.Tensor) else t
        return tree_map(outer, func(*tree_map(inner, args), **tree_map(inner, kwargs or {})))

class Secret(torch.Tensor):
    "Says nothing of itself."
    @property
    def shape(self): raise RuntimeError("shape")
    @property
    def is_cpu(self): raise RuntimeError("is_cpu")
    def detach(self): raise RuntimeError("detach")
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise RuntimeError(func)

class Unhashable(nn.Module):
    __hash__ = None
    def __eq__(self, other): raise RuntimeError("eq")
    def named_modules(self, *args, **kwargs): raise RuntimeError("named_modules")
    def forward(self, x): return x

class Sees(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print("mode", func)
        return func(*args, **(kwargs or {}))

class Rows(dict):
    def values(self): raise RuntimeError("values")

model, same = nn.Linear(3, 1), Unhashable()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
x = torch.randn(4, 3)
folder = tempfile.mkdtemp()
os.chdir(folder)
os.rmdir(folder)
for step in range(3):
    print(type(same(Shell(x))), type(same(x.as_subclass(Secret))), type(same(Rows(a=x))))
    print(torch.func.grad(lambda x: model(x).sum())(x).sum().item())
    print(torch.func.vmap(torch.func.jacrev(model))(x).sum().item())
    print(model(Shell(x)).held[0].sum().item())
    optimizer.zero_grad()
    with Sees():
        loss = model(x).pow(2).sum()
        loss.backward()
    optimizer.step()
    print(loss.item())
"""


@pytest.mark.parametrize("tier", [pytest.param("steps", marks=pytest.mark.slow), "ops"])
def test_nothing_of_the_run_changes_and_all_of_it_is_recorded(trainer, output, tier):
    script = trainer.script(SCRIPT)
    plain = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    run = trainer.record("train.py", tier=tier)
    assert output(run) == plain.stdout
    end = trainer.rows(run, "end")
    assert [row.name for row in end] == ["finished"]
    assert {row.step for row in trainer.rows(run, "loss")} == {0, 1, 2}
    shells = [row for row in trainer.rows(run, "input") if "Shell" in (row.detail or "")]
    assert shells
    for row in shells:
        assert row.digest is None
        assert json.loads(row.detail)["without_bytes"] == ["Shell float32[4, 3]"]
    transformed = [row for row in trainer.rows(run, "input") if row.name == "Linear" and row.digest]
    assert len({row.digest for row in transformed}) > 1
    found = compare(run, run)
    assert found.verdict == "same"
    assert any("not compared" in note and "Shell float32[4, 3]" in note for note in found.notes)
