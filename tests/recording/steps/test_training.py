"""Training loops of many kinds: each leaves the records that it should, and no other.

Covers `optimizer_names.py`.
"""

from __future__ import annotations

import functools
import json
import textwrap
from collections import Counter

import pytest
from trainer import Trainer

from samerun.comparing.compare_runs import compare
from samerun.recording.ops import compiled

HEAD = """
import torch, torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
x, y = torch.randn(16, 4), torch.randint(2, (16,))
"""

LOOPS = {
    "plain": (
        3,
        """
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            optimizer.zero_grad(); F.cross_entropy(model(x), y).backward(); optimizer.step()
        """,
    ),
    "evaluated": (
        3,
        """
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            optimizer.zero_grad(); F.cross_entropy(model(x), y).backward(); optimizer.step()
            model.eval()
            with torch.no_grad(): model(x)
            model.train()
        """,
    ),
    "accumulation": (
        2,
        """
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for n in range(4):
            (F.cross_entropy(model(x), y) / 2).backward()
            if n % 2: optimizer.step(); optimizer.zero_grad()
        """,
    ),
    "two optimizers": (
        4,
        """
        other = nn.Linear(4, 2)
        one, two = torch.optim.SGD(model.parameters(), 0.1), torch.optim.Adam(other.parameters())
        for _ in range(2):
            one.zero_grad(); F.cross_entropy(model(x), y).backward(); one.step()
            two.zero_grad(); F.cross_entropy(other(x), y).backward(); two.step()
        """,
    ),
    "closure": (
        2,
        """
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
        def closure():
            optimizer.zero_grad(); loss = F.cross_entropy(model(x), y); loss.backward(); return loss
        for _ in range(2): optimizer.step(closure)
        """,
    ),
    "scaler and bf16": (
        2,
        """
        optimizer = torch.optim.AdamW(model.parameters())
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        for _ in range(2):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16): loss = F.cross_entropy(model(x), y)
            scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()
        """,
    ),
    "fused": (
        2,
        """
        optimizer = torch.optim.AdamW(model.parameters(), fused=True)
        for _ in range(2):
            optimizer.zero_grad(); F.cross_entropy(model(x), y).backward(); optimizer.step()
        """,
    ),
    "foreach": (
        2,
        """
        optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
        for _ in range(2):
            optimizer.zero_grad(); F.cross_entropy(model(x), y).backward(); optimizer.step()
        """,
    ),
    "a state that torch.distributed fills before it loads": (
        2,
        """
        from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
        optimizer = torch.optim.Adam(model.parameters())
        states = get_state_dict(model, optimizer)
        set_state_dict(model, optimizer, model_state_dict=states[0], optim_state_dict=states[1])
        for _ in range(2):
            optimizer.zero_grad(); F.cross_entropy(model(x), y).backward(); optimizer.step()
        """,
    ),
    "an optimizer from a file": (
        2,
        """
        import io
        file = io.BytesIO()
        torch.save((model, torch.optim.Adam(model.parameters())), file)
        file.seek(0)
        model, optimizer = torch.load(file, weights_only=False)
        for _ in range(2):
            optimizer.zero_grad(); F.cross_entropy(model(x), y).backward(); optimizer.step()
        """,
    ),
    "wrapped optimizer": (
        2,
        """
        class Wrapper(torch.optim.Optimizer):
            def __init__(self, inner): self.inner = inner; super().__init__(inner.param_groups, {})
            def step(self, closure=None): self.inner.step()
        optimizer = Wrapper(torch.optim.SGD(model.parameters(), 0.1))
        for _ in range(2):
            model.zero_grad(); F.cross_entropy(model(x), y).backward(); optimizer.step()
        """,
    ),
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """recorded(name, tier): the run of one of these loops, made once."""

    @functools.cache
    def record(name, tier):
        trainer = Trainer(tmp_path_factory.mktemp("loop"))
        trainer.script(HEAD + textwrap.dedent(LOOPS[name][1]))
        return trainer.record("train.py", tier=tier)

    return record


SELDOM = (
    "plain",
    "foreach",
    "fused",
    "accumulation",
    "wrapped optimizer",
)  # "evaluated" has all that "plain" has
# test_backward_passes.py has a closure at tier ops in everyday
SLOW = [
    *((name, "steps") for name in SELDOM),
    *((name, "ops") for name in ("scaler and bf16", "fused", "closure")),
]


@pytest.mark.everyday(2)
@pytest.mark.parametrize(
    ("name", "tier"),
    [
        *((name, "steps") for name in LOOPS if name not in SELDOM),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW),
    ],
)
def test_each_step_leaves_loss_gradients_parameters(trainer, recorded, output, name, tier):
    steps, _ = LOOPS[name]
    run = recorded(name, tier)
    assert run.manifest.outcome == "finished", output(run)
    rows = trainer.rows(run)
    assert not [row.detail for row in rows if row.name == "recorder-error"]
    counts = Counter(row.what for row in rows)
    assert counts["gradients"] == steps
    assert {row.step for row in rows if row.what == "gradients"} == set(range(steps))
    assert {row.step for row in rows if row.what == "parameters" and row.phase == "optimizer"} == set(
        range(steps)
    )
    assert counts["loss"] >= steps
    assert counts["end"] == 1
    assert bool(counts["operation"]) == (tier == "ops")
    assert all(row.digest is not None for row in rows if row.what in ("gradients", "parameters", "loss"))


@pytest.mark.slow
def test_a_scaled_loss_is_shown_as_people_know_it(trainer, recorded):
    (first, *_) = trainer.rows(recorded("scaler and bf16", "steps"), "loss")
    assert 0 < first.value < 10


def test_gradients_are_named(trainer, recorded):
    rows = trainer.rows(recorded("evaluated", "steps"), "names")
    names = next(json.loads(row.detail) for row in rows if row.name.startswith("gradients"))
    assert names == ["0.weight", "0.bias", "2.weight", "2.bias"]


def test_evaluation_belongs_to_the_step_before_it(trainer, recorded):
    rows = trainer.rows(recorded("evaluated", "steps"), "output")
    assert [(row.step, row.phase) for row in rows] == [
        (0, "forward"),
        (0, "evaluation"),
        (1, "forward"),
        (1, "evaluation"),
        (2, "forward"),
        (2, "evaluation"),
    ]


@pytest.mark.slow
def test_what_a_loss_needs_without_gradients_is_a_part_of_its_forward_pass(trainer):
    trainer.script(
        HEAD
        + """
optimizer = torch.optim.SGD(model.parameters(), 0.1)
teacher = nn.Linear(4, 2)
for step in range(2):
    optimizer.zero_grad()
    made = model(x)
    with torch.no_grad(): target = teacher(x).softmax(1).log()
    F.cross_entropy(made, target.exp()).backward()
    with torch.no_grad(): teacher(x).sin()  # before the optimizer's step, but the loss is through
    optimizer.step()
    model.eval(); model(x); model.train()  # forgot no_grad
    with torch.no_grad(): teacher(x).cos()
"""
    )
    rows = trainer.rows(trainer.record("train.py", tier="ops"))
    places = {
        name: [(row.step, row.phase) for row in rows if row.name == f"aten.{name}.default"]
        for name in ("log", "sin", "cos")
    }
    assert places == {
        "log": [(0, "forward"), (1, "forward")],
        "sin": [(0, "evaluation"), (0, "evaluation")],
        "cos": [(0, "evaluation"), (1, "evaluation")],
    }
    outputs = [(row.step, row.phase) for row in rows if row.what == "output" and row.name == "Linear"]
    assert outputs == [place for step in (0, 1) for place in (places[n][step] for n in places)]


@pytest.mark.slow
def test_a_record_without_one_byte_behind_it_has_no_digest(trainer):
    """Meta tensors have no values: two such runs must not count as equal."""
    trainer.script(
        """
import torch
model = torch.nn.Linear(4, 2, device="meta")
optimizer = torch.optim.SGD(model.parameters(), 0.1)
optimizer.step()
for _ in range(2):
    optimizer.zero_grad(); model(torch.ones(3, 4, device="meta")).sum().backward(); optimizer.step()
"""
    )
    one, other = trainer.record("train.py"), trainer.record("train.py")
    seen = [row for row in trainer.rows(one) if row.what in ("gradients", "parameters", "loss")]
    assert {row.what for row in seen} == {"gradients", "parameters", "loss"}
    assert all(row.digest is None for row in seen)
    assert compare(one, other).verdict == "unknown"


@pytest.mark.slow
def test_steps_go_on_after_one_of_another_optimizer_raised(trainer, output):
    raised = """
    class Refuses(torch.optim.SGD):
        def step(self, closure=None):
            raise RuntimeError("no such gradients")
    try:
        F.cross_entropy(model(x), y).backward(); Refuses(model.parameters(), 0.1).step()
    except RuntimeError:
        pass
    """
    trainer.script(HEAD + textwrap.dedent(raised) + textwrap.dedent(LOOPS["plain"][1]))
    run = trainer.record("train.py")
    assert run.manifest.outcome == "finished", output(run)
    stepped = [row.step for row in trainer.rows(run, "parameters") if row.phase == "optimizer"]
    assert len(stepped) == len(set(stepped)) == 3


@pytest.mark.parametrize(
    "hook", [pytest.param("", marks=pytest.mark.slow), "sys.excepthook = lambda *seen: print(repr(seen[1]))"]
)
def test_a_script_that_raises_says_so(trainer, output, hook):
    before = "\nimport sys\nassert sys.excepthook is sys.__excepthook__\n"
    trainer.script(HEAD + textwrap.dedent(LOOPS["plain"][1]) + before + hook + "\nraise KeyError('gone')\n")
    run = trainer.record("train.py")
    assert run.manifest.outcome == "failed"
    assert ("KeyError('gone')" if hook else "KeyError: 'gone'") in output(run)
    (end,) = trainer.rows(run, "end")
    assert end.name == "raised KeyError"


def test_a_kill_leaves_what_was_flushed(trainer):
    trainer.script(
        HEAD
        + textwrap.dedent(LOOPS["plain"][1]).replace("range(3)", "range(50)")
        + "\nimport os, signal, time; time.sleep(1.2)\n"
        + "optimizer.zero_grad(); F.cross_entropy(model(x), y).backward(); optimizer.step()\n"
        + "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    run = trainer.record("train.py")
    trace = run.traces()["rank0"]
    assert not trace.complete
    assert max(row.step for row in trainer.rows(run, "gradients")) == 50


@pytest.mark.parametrize("tier", ["steps", pytest.param("ops", marks=pytest.mark.slow)])
def test_a_compiled_model_is_recorded(trainer, output, tier):
    trainer.script(
        HEAD
        + """
compiled = torch.compile(model, backend="aot_eager")
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(2):
    optimizer.zero_grad(); F.cross_entropy(compiled(x), y).backward(); optimizer.step()
counters = torch._dynamo.utils.counters
print("graphs", counters["stats"]["unique_graphs"], dict(counters["graph_break"]))
"""
    )
    run = trainer.record("train.py", tier=tier)
    assert run.manifest.outcome == "finished", output(run)
    assert len(trainer.rows(run, "gradients")) == 2
    notes = [row.name for row in trainer.rows(run, "note")]
    if tier == "steps" or compiled.IS_COMPILED:
        assert "graphs 1 {}" in output(run)  # left compiled, in one piece
        assert notes == []
    else:
        assert notes == ["compile-eager"]
        assert "graphs 0" in output(run)


def test_stop_after_ends_before_the_next_step(trainer):
    trainer.script(HEAD + textwrap.dedent(LOOPS["plain"][1]).replace("range(3)", "range(1000000)"))
    run = trainer.record("train.py", stop_after=4)
    assert run.manifest.outcome == "stopped"
    rows = trainer.rows(run)
    assert max(row.step for row in rows if row.what == "parameters") == 4
    assert [row.what for row in rows][-1] == "stopped"
    assert not [row for row in rows if row.step == 5 and row.what in ("output", "loss")]


WORKSPACES = """
import torch, torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
junk = [torch.rand(n) for n in range(1, 2000, 7)]  # what memory holds when it is used anew
torch.manual_seed(0)
model = nn.LSTM(4, 8)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(3):
    if LEAVE: del junk[step::3]
    optimizer.zero_grad()
    out, _ = model(torch.randn(5, 3, 4))
    lengths = torch.tensor([5, 5, 5]), torch.tensor([2, 3, 2])
    F.ctc_loss(out.log_softmax(2), torch.randint(1, 8, (3, 3)), *lengths).backward()
    optimizer.step()
"""


@pytest.mark.slow
def test_workspaces_that_are_not_filled_are_no_difference(trainer):
    """oneDNN's LSTM and CTC loss put out memory for their backward passes that holds what it held."""
    runs = []
    for leave in ("True", "False"):
        trainer.script(WORKSPACES.replace("LEAVE", leave))
        runs.append(trainer.record("train.py", tier="ops"))
    assert {"aten.mkldnn_rnn_layer.default", "aten._ctc_loss.Tensor"} <= {
        row.name for row in trainer.rows(runs[0], "operation")
    }
    assert compare(*runs).verdict == "same"
    inputs = [[row.inputs for row in trainer.rows(run, "operation")] for run in runs]
    assert inputs[0] == inputs[1]


def test_statistics_that_batch_norm_keeps_are_part_of_what_it_puts_out(trainer):
    """Its schema does not say that it writes them: they were known by what they held before."""
    trainer.script(
        HEAD
        + """
norm = nn.BatchNorm1d(4)
for _ in range(3): norm(x)
"""
    )
    rows = [row for row in trainer.rows(trainer.record("train.py", tier="ops"), "operation")]
    norms = [row for row in rows if row.name == "aten.native_batch_norm.default"]
    assert len(norms) == 3
    assert len({row.inputs for row in norms}) == 3
