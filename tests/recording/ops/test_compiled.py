"""Tier ops leaves what Inductor compiled as it is, and records it as one operation."""

from __future__ import annotations

import subprocess
import sys

import pytest
from trainer import Trainer

from samerun.recording.ops.compiled import IS_COMPILED
from samerun.runs import schema
from samerun.runs.store import Run

pytestmark = pytest.mark.skipif(not IS_COMPILED, reason="a dispatch mode stops this torch from compiling")

# Dropout draws inside, the averages of the batch norm are written inside, and `noise` is an operation of the
# script's own that depends on the environment.
SCRIPT = """
import os
import torch
from torch import nn

@torch.library.custom_op("script::noise", mutates_args=())
def noise(x: torch.Tensor) -> torch.Tensor:
    return x + float(os.environ.get("NOISE", 0))

noise.register_fake(lambda x: torch.empty_like(x))
noise.register_autograd(lambda ctx, gradient: gradient)

class Noise(nn.Module):
    def forward(self, x):
        return noise(x)

torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(
    nn.Linear(8, 16), nn.BatchNorm1d(16), nn.GELU(), nn.Dropout(0.5), Noise(), nn.Linear(16, 2)
)
compiled = torch.compile(model, fullgraph=True)
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
x, y = torch.randn(32, 8), torch.randint(2, (32,))
said = []
for step in range(4):
    optimizer.zero_grad()
    out = compiled(x)  # here
    loss = nn.functional.cross_entropy(out, y)
    loss.backward()
    optimizer.step()
    said.append(loss.item().hex())
said += [value.double().sum().item().hex() for value in model.state_dict().values()]
said.append(torch.rand(1).item().hex())
said.append(str(torch._dynamo.utils.counters["stats"]))
open("said.txt", "w").write("\\n".join(said))
"""
HERE = f"train.py:{1 + SCRIPT.splitlines().index('    out = compiled(x)  # here')}"


def said(trainer: Trainer) -> str:
    text = (trainer.folder / "said.txt").read_text()
    (trainer.folder / "said.txt").unlink()
    return text


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Trainer:
    trainer = Trainer(tmp_path_factory.mktemp("compiled"))
    trainer.script(SCRIPT)
    return trainer


@pytest.fixture(scope="module")
def plain(compiled: Trainer) -> str:
    subprocess.run([sys.executable, "train.py"], cwd=compiled.folder, check=True, timeout=200)
    return said(compiled)


@pytest.fixture(scope="module")
def whole(compiled: Trainer) -> tuple[Run, str]:
    """Every step recorded, and what the run came to."""
    run = compiled.record("train.py", tier="ops")
    return run, said(compiled)


@pytest.mark.slow
@pytest.mark.parametrize(
    "window",
    [None, (2, 2)],
    ids=["every step", "a window after it was compiled"],
)
def test_it_computes_the_bits_and_makes_the_graphs_of_a_plain_run(compiled, whole, output, plain, window):
    if window is None:
        run, came = whole
    else:
        run = compiled.record("train.py", tier="ops", window=window)
        came = said(compiled)
    assert run.manifest.outcome == "finished", output(run)
    assert came == plain
    assert "'unique_graphs': 1" in plain
    regions = [row for row in compiled.rows(run, "operation") if row.name.startswith("inductor.")]
    steps = range(4) if window is None else (2, 3)
    assert [(row.step, row.name) for row in regions if row.step in steps][: 2 * len(steps)] == [
        (step, name) for step in steps for name in ("inductor.forward", "inductor.backward")
    ]
    assert {row.call_site for row in regions} == {HERE}
    assert {row.flags & schema.DRAWS for row in regions if row.name == "inductor.forward"} == {schema.DRAWS}
    assert not compiled.rows(run, "gap")  # memory that was written inside is no riddle
    assert not [row for row in compiled.rows(run, "operation") if row.flags & schema.UNINITIALIZED]


@pytest.mark.slow
def test_one_number_that_differs_inside_is_a_difference_of_its_output(compiled, whole):
    other = compiled.record("train.py", tier="ops", env={"NOISE": "1e-6"})
    rows = [
        next(row for row in compiled.rows(run, "operation") if row.name == "inductor.forward")
        for run in (whole[0], other)
    ]
    assert rows[0].inputs == rows[1].inputs
    assert rows[0].digest != rows[1].digest
