"""Ranks that only `init_process_group(rank=…)` knows, as in the tutorial of DistributedDataParallel."""

from __future__ import annotations

import pytest

from samerun.comparing.compare_runs import compare

SCRIPT = """
import os, sys, torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

def main(rank, file, when, noise):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Linear(3, 1)
    if when == "late":
        model(torch.ones(1, 3))
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
    model = DDP(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(2):
        optimizer.zero_grad()
        x = torch.full((2, 3), float(rank + 1)) + (noise if rank == 1 and step == 1 else 0)
        model(x).sum().backward()
        optimizer.step()
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(main, (os.path.abspath(sys.argv[1]), sys.argv[2], float(sys.argv[3])), nprocs=2)
"""


@pytest.mark.slow  # test_processes.py has ranks in everyday
@pytest.mark.parametrize("when", ["early", "late"])
def test_each_trace_says_its_rank(trainer, output, when):
    trainer.script(SCRIPT)
    runs = [trainer.record("train.py", f"store{n}", when, str(n)) for n in range(2)]
    for run in runs:
        assert run.manifest.outcome == "finished", output(run)
        traces = run.traces().values()
        assert sorted((trace.rank, trace.meta["world_size"]) for trace in traces) == [(0, 2), (1, 2)]
    found = compare(*runs)
    assert found.verdict == "differs"
    assert (found.difference.rank, found.difference.step, found.difference.what) == (1, 1, "input")
    assert found.scope.ranks == 2
