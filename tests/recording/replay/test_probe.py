"""An operation run again alone where it ran, in every way; and no bit of the training moves."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from trainer import Trainer

from samerun.comparing.replayed_operation import read_probe
from samerun.runs.plan import Probe

SCRIPT = """
import torch, torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(2)

@torch.library.custom_op("mine::noise", mutates_args=())
def noise(x: torch.Tensor) -> torch.Tensor:
    count[0] += 1
    return x + count[0] % 3

count = [0]
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(32, 64), nn.Linear(64, 4)
    def forward(self, x):
        hidden = F.dropout(F.gelu(self.one(x)), 0.3)
        return self.two(hidden)

model = Net()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
own = torch.Generator().manual_seed(3)
for step in range(4):
    x, y = torch.rand(64, 32, generator=own), torch.randint(4, (64,))
    table = torch.zeros(10, 32)
    table.index_add_(0, torch.arange(64) % 10, x)  # in place
    noise(x.view(32, 64).t()[3:, ::2])  # custom
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
states = torch.get_rng_state(), own.get_state(), torch.get_num_threads()
torch.save([*model.parameters(), *states], "weights.pt")
"""
WAYS = [
    "as it is",
    "deterministic",
    "deterministic, memory filled",
    "first call of a process",
    "later calls, 2 threads",
    "later calls, 1 thread",
]


def line(word: str) -> str:
    (found,) = (n for n, row in enumerate(SCRIPT.splitlines(), 1) if word in row)
    return f"train.py:{found}"


PROBES = {
    "generator": Probe(1, "aten.rand.generator", "forward", None, line("generator=own)")),
    "backward": Probe(2, "aten.mm.default", "backward", "Net.two", line("self.two(hidden)"), nth=1),
    "in place": Probe(2, "aten.index_add_.default", "forward", None, line("# in place")),
    "custom": Probe(2, "mine.noise.default", "forward", None, line("# custom")),
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    trainer = Trainer(folder)
    trainer.script(SCRIPT)
    subprocess.run([sys.executable, "train.py"], cwd=folder, check=True, timeout=120)
    return torch.load(folder / "weights.pt")


@pytest.mark.everyday(1)
@pytest.mark.parametrize(
    "name",
    [name if name == "custom" else pytest.param(name, marks=pytest.mark.slow) for name in PROBES],
)
def test_every_way_and_no_bit_of_the_training_moves(trainer, plain, name):
    trainer.script(SCRIPT)
    probe = PROBES[name]
    run = trainer.record("train.py", tier="ops", window=(probe.step, probe.step), probe=probe)
    assert run.manifest.outcome == "finished", (run.path / "output.txt").read_text()
    found = read_probe(run)
    assert (found.op, found.step, found.phase, found.call_site) == (
        probe.op,
        probe.step,
        probe.phase,
        probe.call_site,
    )
    assert [way.way for way in found.ways] == WAYS
    if name == "custom":  # it counts its calls, and exists in the script only
        here, fresh = found.ways[:3], found.ways[3:]
        assert all(way.distinct == 3 and 0 < way.equal < way.runs for way in here), here
        assert all("no operation mine.noise" in way.error and way.runs == 0 for way in fresh), fresh
    else:
        for way in found.ways:
            assert way.error is None, way
            assert (way.distinct, way.equal) == (1, way.runs), way
            assert way.runs >= (3 if "first" in way.way else 2)
    for one, other in zip(torch.load(trainer.folder / "weights.pt"), plain, strict=True):
        assert torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other


@pytest.mark.slow
def test_an_operation_that_is_not_reached_leaves_nothing(trainer):
    trainer.script(SCRIPT)
    probe = Probe(9, "aten.gelu.default", "forward", "Net", line("F.gelu"))
    assert read_probe(trainer.record("train.py", tier="ops", window=(0, 1), probe=probe)) is None
