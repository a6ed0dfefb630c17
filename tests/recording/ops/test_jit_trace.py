"""Tier ops under torch.jit and torch.compile: the same graphs, results and no exception of its own.

Covers `dispatch_mode.py`, `places.py`, `generator_states.py` and `window.py`.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
from trainer import Trainer

SCRIPT = """
import sys
import torch

class Sized(torch.nn.Module):
    def forward(self, x):
        n = x.size(0)
        return x.view(n, -1) + torch.arange(0, n).view(-1, 1) + torch.full((n,), 1.0).view(-1, 1)

def constant(a, b):
    return a.reshape(a.size(0), -1) + b.item()

x = torch.ones(4, 16)
said = [
    torch.jit.trace(Sized(), (x,)).graph,
    torch.jit.trace(Sized(), (x,))(torch.ones(7, 16)).sum(),
    torch.jit.trace(constant, (torch.ones(4, 2, 2), torch.tensor(2.0))).graph,
    torch.jit.trace_module(Sized(), {"forward": x}).graph,
    torch.jit._get_trace_graph(Sized(), (x,))[0],
    torch.compile(lambda x: x.sin() + 1, fullgraph=True, backend="eager")(x).sum(),
]
open("said.txt", "w").write("\\n".join(map(str, said)))
"""


def said(trainer: Trainer) -> str:
    return (trainer.folder / "said.txt").read_text()


@pytest.mark.slow
def test_graphs_and_results_are_those_of_a_plain_run(trainer: Trainer, output):
    script = trainer.script(SCRIPT, "traced.py")
    subprocess.run([sys.executable, str(script)], cwd=trainer.folder, check=True, timeout=120)
    plain = said(trainer)
    (trainer.folder / "said.txt").unlink()
    run = trainer.record("traced.py", tier="ops")
    assert run.manifest.outcome == "finished", output(run)
    assert said(trainer) == plain
    assert "aten::size" in plain  # what a size became, which a mode in the way loses
    assert trainer.rows(run, "operation")
