from __future__ import annotations

import pytest

torch_distributed = pytest.importorskip("torch.distributed")

SCRIPT = """
import os, time
import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
store = dist.HashStore()
dist.init_process_group("gloo", store=store, rank=0, world_size=1)
torch.manual_seed(0)
model = DistributedDataParallel(nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(2):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).sum().backward()
    optimizer.step()
pause = time.sleep
def watched(seconds):
    print("pause", seconds, "left", dist.is_initialized())
    pause(seconds)  # as ever: without it gloo may end the process
time.sleep = watched
dist.destroy_process_group()
try:
    dist.destroy_process_group()
except AssertionError:
    print("refused as ever")
"""


@pytest.mark.skipif(not torch_distributed.is_gloo_available(), reason="this torch has no gloo")
def test_a_groups_threads_are_given_time_once_it_is_destroyed(trainer, output):
    """A thread of gloo's may wait for the GIL just then, and is joined by one that holds it."""
    trainer.script(SCRIPT)
    run = trainer.record("train.py", tier="steps")
    assert run.manifest.outcome == "finished", output(run)
    assert output(run).splitlines()[-2:] == ["pause 0.05 left False", "refused as ever"]
