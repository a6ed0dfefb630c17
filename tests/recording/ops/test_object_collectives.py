from __future__ import annotations

import sys
from pathlib import Path

import pytest

from samerun.comparing.compare_runs import compare

torch_distributed = pytest.importorskip("torch.distributed")
pytestmark = pytest.mark.skipif(not torch_distributed.is_gloo_available(), reason="this torch has no gloo")

SCRIPT = """
import os, sys, time
import torch, torch.distributed as dist
from torch import nn
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Linear(4, 1)
for step in range(2):
    model(torch.ones(3, 4)).sum().backward()
    names = [None, None]
    dist.all_gather_object(names, {"rank": rank, "at": time.time(), "of": "x" * 40 * rank})
    said = [len(names[0]["of"]), sys.argv[1:]]
    dist.broadcast_object_list(said, src=0)
    scale = torch.tensor([float(said[1][step]), float(len(names[1]["of"]))])
    dist.all_reduce(scale)
    for p in model.parameters():
        p.data.add_(p.grad, alpha=-float(scale[0]) * 0.01)
        p.grad = None
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_what_objects_are_made_of_is_no_data_and_what_they_are_used_for_is(trainer, output):
    trainer.script(SCRIPT)
    launcher = [
        str(Path(sys.executable).parent / "torchrun"),
        "--standalone",
        "--nproc-per-node",
        "2",
        "train.py",
    ]
    one, again, other = (trainer.record(*launcher, "2", last, tier="ops") for last in ("3", "3", "4"))
    assert one.manifest.outcome == "finished", output(one)
    operations = trainer.rows(one, "operation")
    assert {row.call_site for row in operations} >= {"train.py:16"}
    assert not {"train.py:13", "train.py:15"} & {row.call_site for row in operations}
    assert compare(one, again).verdict == "same"
    found = compare(one, other).difference
    assert (found.step, found.what, found.call_site) == (1, "operation", "train.py:16")
