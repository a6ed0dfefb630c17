"""Trainings without an optimizer of torch's have steps, and those with one have the steps that it makes."""

from __future__ import annotations

import json

import pytest

from samerun.comparing.compare_runs import compare

HEAD = """
import sys, time, torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
noise = float(sys.argv[1])
x, y = torch.randn(8, 3), torch.randn(8, 1)
"""
BY_HAND = """
model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
criterion = nn.MSELoss()
for step in range(3):
    model.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    if step == 1: model[0].weight.grad[0, 0] += noise
    for p in model.parameters(): p.data.add_(p.grad, alpha=-0.1)
    print(f"{loss.item()} after {time.time()} s")
with torch.no_grad(): model(x)
print("compiler:", "torch._dynamo" in sys.modules)
"""
TENSORS = """
w = torch.randn(3, 1, requires_grad=True)
for step in range(3):
    (x @ w - y).pow(2).mean().backward()
    with torch.no_grad(): w -= 0.1 * w.grad + (noise if step == 1 else 0)
    w.grad = None
print(time.time())
"""
FUNCTIONAL = """
model = nn.Linear(3, 1)
def loss(p): return (torch.func.functional_call(model, p, (x,)) - y).pow(2).mean()
p = {name: value.detach() for name, value in model.named_parameters()}
for step in range(3):
    g = torch.func.grad(loss)(p)
    p = {name: p[name] - 0.1 * g[name] - (noise if step == 1 else 0) for name in p}
print(time.time())
"""
FIRST = {"by-hand": (1, "parameters"), "tensors": (1, "parameters"), "functional": (2, "output")}
SCRIPTS = {"by-hand": BY_HAND, "tensors": TENSORS, "functional": FUNCTIONAL}


@pytest.mark.parametrize(
    "name", ["by-hand", *(pytest.param(n, marks=pytest.mark.slow) for n in ("tensors", "functional"))]
)
def test_backward_passes_are_the_steps(trainer, output, name):
    trainer.script(HEAD + SCRIPTS[name])
    run, again, other = (trainer.record("train.py", noise) for noise in ("0", "0", "1e-7"))
    assert run.manifest.outcome == "finished", output(run)
    assert run.steps == 3
    if (
        name == "by-hand"
    ):  # which has no use for it, and would wait a second for the sake of the recorder alone
        assert "compiler: False" in output(run)
    assert [row.step for row in trainer.rows(run, "loss")] == [0, 1, 2]
    assert [row.step for row in trainer.rows(run, "gradients")] == [0, 1, 2]
    same = compare(run, again)
    assert (same.verdict, same.scope.steps) == ("same", 3)
    found = compare(run, other)
    assert found.verdict == "differs"
    assert (found.difference.step, found.difference.what) == FIRST[name]


WITH_OPTIMIZER = (
    HEAD
    + """
model = nn.Linear(3, 1)
def loss(): return (model(x) - y).pow(2).mean()
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)
def closure():
    optimizer.zero_grad()
    value = loss()
    value.backward()
    return value
for _ in range(2): optimizer.step(closure)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(2):
    optimizer.zero_grad()
    for _ in range(3): loss().backward()
    optimizer.step()
"""
)


def test_an_optimizer_makes_the_steps_and_a_closure_is_a_forward_and_a_backward_pass(trainer):
    trainer.script(WITH_OPTIMIZER)
    run = trainer.record("train.py", "0", tier="ops")
    assert run.steps == 4
    assert [row.step for row in trainer.rows(run, "loss")] == [0, 0, 1, 1, 2, 2, 2, 3, 3, 3]
    assert [row.step for row in trainer.rows(run, "gradients")] == [0, 1, 2, 3]
    assert {row.phase for row in trainer.rows(run, "input")} == {"data"}
    assert {row.phase for row in trainer.rows(run, "output")} == {"forward"}
    of = {(row.step, row.phase, row.name) for row in trainer.rows(run, "operation")}
    for step in range(4):
        assert {(step, "forward", "aten.addmm.default"), (step, "backward", "aten.mm.default")} <= of
        assert (step, "optimizer", "aten.addmm.default") not in of
    assert (0, "optimizer", "aten.dot.default") in of  # LBFGS's own


REPLACED = """
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=4)
models = [nn.Linear(3, 1) for _ in range(3)]
replaced, averaged, model = models
for each in models: each(x)
for step in range(2):
    for a, b in loader:
        with torch.no_grad(): averaged(a)
        (model(a) - b).pow(2).mean().backward()
        with torch.no_grad():
            for part in averaged.parameters(): part *= 0.9
            for part in model.parameters(): part -= 0.1 * part.grad
        model.zero_grad()
"""


def test_a_model_that_a_restored_one_replaced_before_the_first_batch_is_no_part_of_the_weights(trainer):
    trainer.script(HEAD + REPLACED)
    run = trainer.record("train.py", "0")
    named = [row for row in trainer.rows(run, "names") if row.name == "parameters:backward"]
    assert [json.loads(row.detail) for row in named] == [
        ["Linear#1.weight", "Linear#1.bias", "Linear#2.weight", "Linear#2.bias"]
    ]
