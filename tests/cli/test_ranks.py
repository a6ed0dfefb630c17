"""Two ranks under torchrun: each has its own trace, and the one that parts is named."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from samerun.runs.store import Store

from .command import samerun

TRAIN = """\
import os, torch
import torch.distributed as dist
from torch import nn
dist.init_process_group("gloo")
torch.set_num_threads(1)
if dist.get_rank() == 0 or not os.path.exists("unseeded"):
    torch.manual_seed(dist.get_rank())
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    loss = model(torch.rand(4, 8)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.barrier()
dist.destroy_process_group()
"""
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


@pytest.mark.slow
def test_ranks_are_compared_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    done = samerun("check", "--", *TORCHRUN, "train.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✓ same — 2 runs, 2 steps, 2 ranks" in done.stdout
    for run in Store(tmp_path / ".samerun").list():
        assert list(run.traces()) == ["rank0", "rank1"]

    (tmp_path / "unseeded").touch()  # rank 1 alone
    samerun("run", "--mode", "off", "--", *TORCHRUN, "train.py", cwd=tmp_path)
    done = samerun("diff", "last~1", "last", "--json", "out.json", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    result = json.loads((tmp_path / "out.json").read_text())
    assert result["first_difference"]["rank"] == 1
    assert result["causes"][0]["source"] == "torch-cpu"
    assert "rank 1" in done.stdout
