"""Calls of modules: root modules are recorded, whatever they do and whoever compiles them.

Covers `module_state.py`, `operation_counters.py` and `replicas.py`.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from samerun.comparing.compare_runs import compare
from samerun.runs.schema import A_LOSS

HEAD = """
import torch, torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
x, y = torch.randn(16, 4), torch.randint(2, (16,))
class ByHand:  # the first optimizer of torch's in a process has it import its compiler
    def zero_grad(self): model.zero_grad()
    def step(self):
        for p in model.parameters(): p.data.add_(p.grad, alpha=-0.1)
optimizer = ByHand()
"""

RAISES = (
    HEAD
    + """
class Picky(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = model
    def forward(self, x):
        x = self.inner[0](x)
        if x.shape[0] != 16: raise stop
        return self.inner[1:](x)
picky = Picky()
for stop in (ValueError("no"), KeyboardInterrupt()):
    try: picky(x[:3])
    except BaseException as error: assert error is stop
for _ in range(2):
    optimizer.zero_grad(); F.cross_entropy(picky(x) * 2, y).backward(); optimizer.step()
"""
)


@pytest.mark.parametrize("tier", [pytest.param("steps", marks=pytest.mark.slow), "ops"])
def test_a_call_that_raised_leaves_nothing_behind(trainer, output, tier):
    trainer.script(RAISES)
    run = trainer.record("train.py", tier=tier)
    assert run.manifest.outcome == "finished", output(run)
    assert "Warning" not in output(run)
    assert len(trainer.rows(run, "input")) == 4
    assert [row.step for row in trainer.rows(run, "output")] == [0, 1]
    (shapes,) = trainer.rows(run, "shapes")
    assert json.loads(shapes.detail) == ["float32[8, 4]", "float32[8]", "float32[2, 8]", "float32[2]"]
    assert (shapes.phase, shapes.name) == ("setup", "parameters:Picky")
    assert {row.phase for row in trainer.rows(run, "loss")} == {"forward"}
    operations = trainer.rows(run, "operation")
    if tier == "ops":
        of = {(row.name, row.module) for row in operations if row.phase == "forward"}
        assert ("aten.mul.Tensor", None) in of
        assert ("aten.relu.default", "Picky.inner.1") in of


def test_what_came_out_is_what_the_caller_was_given(trainer):
    """The script's own hooks have had their turn."""
    both = []
    for factor in ("1", "2"):
        script = (
            HEAD
            + f"model.register_forward_hook(lambda module, inputs, result: result * {factor})\nmodel(x)\n"
        )
        trainer.script(script + "F.cross_entropy(model(x), y).backward(); optimizer.step()\n")
        run = trainer.record("train.py")
        both.append([row.digest for row in trainer.rows(run, "output")])
    assert len(both[0]) == len(both[1]) == 2
    assert not set(both[0]) & set(both[1])


def test_threads_have_root_modules_of_their_own(trainer, output):
    trainer.script(
        HEAD
        + """
import threading
other = nn.Linear(4, 2)
class Around(nn.Module):
    def forward(self, x):
        thread = threading.Thread(target=lambda: other(x)); thread.start(); thread.join()
        return model(x)
F.cross_entropy(Around()(x), y).backward(); optimizer.step()
"""
    )
    run = trainer.record("train.py")
    assert [row.name for row in trainer.rows(run, "output")] == ["Linear", "Around"], output(run)


def test_threads_may_call_one_model_for_the_first_time_together(trainer, output):
    """One of them met it, and the others asked how it was written before it was."""
    trainer.script(
        """
import sys, threading, torch
from torch import nn
sys.setswitchinterval(1e-6)
torch.manual_seed(0); torch.set_num_threads(1)
x = torch.randn(16, 4)
together = threading.Barrier(4)
def work(model):
    together.wait()
    grads = torch.autograd.grad(model(x).sum(), list(model.parameters()))
for size in range(1, 11):
    model = nn.Sequential(nn.Linear(4, size), *[nn.Linear(size, size) for _ in range(20)])
    threads = [threading.Thread(target=work, args=(model,)) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""
    )
    run = trainer.record("train.py")
    assert run.manifest.outcome == "finished", output(run)
    assert not (run.path / "recording-error.txt").exists()
    shapes = [row for row in trainer.rows(run, "shapes") if row.name.startswith("parameters:")]
    assert len(shapes) == 10


@pytest.mark.slow
def test_a_traced_or_exported_model_is_as_without_recording(trainer, output):
    """What the recorder does is no part of it."""
    trainer.script(
        HEAD
        + """
traced = torch.jit.trace(model, x)
exported = torch.export.export(model, (x,), strict=True)
print("operations", len(list(traced.inlined_graph.nodes())), len(exported.graph.nodes))
F.cross_entropy(traced(x), y).backward(); optimizer.step()
"""
    )
    plain = subprocess.run(
        [sys.executable, "train.py"], cwd=trainer.folder, check=True, capture_output=True, text=True
    )
    run = trainer.record("train.py")
    assert "operations" in plain.stdout
    assert plain.stdout in output(run)
    assert len(trainer.rows(run, "gradients")) == 1


COMPILED = (
    HEAD
    + """
layers = [nn.Linear(4, 4) for _ in range(12)]
first = nn.Linear(4, 4)
first.compile(backend="aot_eager")
compiled = [torch.compile(layer, backend="aot_eager") for layer in layers]
@torch.compile(backend="aot_eager")
def loss_of(x, y):
    x = model(x)
    BREAK
    return F.cross_entropy(model[1](x), y)
for _ in range(2):
    optimizer.zero_grad()
    z = first(x)
    for layer in compiled: z = layer(z)
    loss_of(z, y).backward()
    optimizer.step()
counters = torch._dynamo.utils.counters
print("graphs", counters["stats"]["unique_graphs"], len(counters["graph_break"]))
"""
)


@pytest.mark.slow  # ops/test_compiled.py has it in everyday
@pytest.mark.parametrize("break_", ["pass", "torch._dynamo.graph_break()"])
def test_compiled_modules_are_compiled_as_without_recording(trainer, output, break_):
    """One function stands for the calls of all modules: torch.compile must not take it for code of theirs."""
    script = COMPILED.replace("BREAK", break_)
    trainer.script(script)
    plain = subprocess.run(
        [sys.executable, "train.py"], cwd=trainer.folder, check=True, capture_output=True, text=True
    )
    run = trainer.record("train.py")
    assert run.manifest.outcome == "finished", output(run)
    assert "graphs" in plain.stdout
    assert plain.stdout.splitlines()[-1] in output(run)
    assert "global hooks" not in output(run)
    assert len(trainer.rows(run, "gradients")) == 2


SELDOM_COUNTERS = [
    pytest.param(name, marks=pytest.mark.slow)
    for name in ("thop", "ptflops", "torchinfo", "torchsummary", "torchsummaryX", "calflops")
]
COUNTED = (
    HEAD
    + """
from {library} import profile
for _ in range(3):
    profile(model, torch.full((1, 4), float(sys.argv[1])))
    optimizer.zero_grad(); F.cross_entropy(model(x), y).backward(); optimizer.step()
""".replace("\n", "\nimport sys\n", 1)
)


def test_a_thread_may_begin_with_the_call_of_a_module(trainer, output):
    """No frame is below it then. It ends before the script does, or python (before 3.14) may abort."""
    trainer.script(
        HEAD
        + """
import _thread, sys, threading, time
done, failed = threading.Event(), []
sys.unraisablehook = lambda seen: failed.append(seen.exc_value)
class Tells(nn.Linear):
    def forward(self, x):
        done.set()
        return super().forward(x)
before = _thread._count()
_thread.start_new_thread(Tells(4, 2), (x,))
assert done.wait(60), failed
while _thread._count() > before: time.sleep(0.01)
"""
    )
    run = trainer.record("train.py")
    assert run.manifest.outcome == "finished", output(run)


@pytest.mark.parametrize("library", ["mine", *SELDOM_COUNTERS])
def test_a_call_to_count_operations_is_no_part_of_the_training(trainer, library):
    """What such a library gives the model is memory that nothing wrote."""
    trainer.script("def profile(model, x): return model(x) is not None", f"{library}.py")
    trainer.script(COUNTED.replace("{library}", library))
    runs = [trainer.record("train.py", word) for word in ("1", "2")]
    assert compare(*runs).verdict == ("differs" if library == "mine" else "same")
    inputs = [row for row in trainer.rows(runs[0], "input") if row.phase == "data"]
    assert len(inputs) == (6 if library == "mine" else 3)


LAZY = """
class Layer(nn.Module):
    def _track_variables(self):
        self._torch_params = nn.ParameterDict({"weight": self.weight})
    def named_parameters(self, *args, **keywords):
        if not hasattr(self, "_torch_params"): self._track_variables()
        return super().named_parameters(*args, **keywords)
    def forward(self, x):
        if not hasattr(self, "_torch_params"):
            object.__setattr__(self, "weight", nn.Parameter(torch.ones(2, 4)))
            self._track_variables()
        return x @ self.weight.T
layer = Layer()
for _ in range(2):
    loss = F.cross_entropy(layer(x), y)
    loss.backward()
    with torch.no_grad(): layer.weight.sub_(layer.weight.grad)
assert list(layer.state_dict()) == ["_torch_params.weight"]
"""


def test_a_layer_that_tracks_its_parameters_when_it_is_asked_is_not_asked_before_they_are_there(trainer):
    """So Keras's do on torch: their first call, under the recorder, left parameters on the device meta."""
    trainer.script(HEAD + LAZY)
    run = trainer.record("train.py")
    assert run.manifest.outcome == "finished"
    (shapes,) = trainer.rows(run, "shapes")
    assert json.loads(shapes.detail) == ["float32[2, 4]"]
    assert [row.name for row in trainer.rows(run, "parameters") if row.phase == "setup"] == ["Layer"]


LOSSES = """
class Own(torch.nn.Module):
    def forward(self, x): return x.square().mean()
class Scaled(Own):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(()))
    def forward(self, x): return super().forward(x) * self.scale
weighted = torch.nn.CrossEntropyLoss(torch.ones(2))
class Score(Own): pass
for made in (Own(), Scaled(), torch.nn.Flatten()): made(model(x))
Score()(x)
weighted(model(x), y)
"""


def test_which_modules_are_losses_is_said_of_what_they_give(trainer):
    trainer.script(HEAD + LOSSES)
    rows = trainer.rows(trainer.record("train.py"), "output")
    assert {row.name: row.detail for row in rows} == {
        "Own": A_LOSS,
        "Score": None,  # no gradients: all that there is of an evaluation, perhaps
        "Scaled": None,
        "Flatten": None,
        "Sequential": None,
        "CrossEntropyLoss": A_LOSS,
    }


def test_what_a_script_calls_before_its_first_batch_leaves_room_for_the_training(trainer):
    trainer.script(
        HEAD
        + """
for _ in range(20):
    for layer in model: x = x if layer is model[2] else layer(x[:, :4])
for batch in torch.utils.data.DataLoader(torch.randn(4, 4), batch_size=2):
    optimizer.zero_grad(); model(batch).sum().backward(); optimizer.step()
"""
    )
    rows = trainer.rows(trainer.record("train.py"), "input")
    assert [row.step for row in rows if row.name == "Sequential"] == [0, 1]
    assert len(rows) == 32 + 2
