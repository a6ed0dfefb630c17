"""Stages of a pipeline: what they send is as ever, and their passes for shapes alone are in no record."""

from __future__ import annotations

import pytest

from samerun.comparing.compare_runs import compare

torch_distributed = pytest.importorskip("torch.distributed")
pytestmark = pytest.mark.skipif(not torch_distributed.is_gloo_available(), reason="this torch has no gloo")

START = """
import os, sys, torch
import torch.distributed as dist
import torch.multiprocessing as mp
torch.set_num_threads(1)

def main(rank, file, noise):
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
    BODY
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(main, (os.path.abspath(sys.argv[1]), float(sys.argv[2])), nprocs=2)
"""
SENDING = """
    there, here = torch.full((2,), float(rank)), torch.zeros(2)
    ops = [dist.P2POp(dist.isend, there, 1 - rank), dist.P2POp(dist.irecv, here, 1 - rank)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    assert here.tolist() == [1.0 - rank] * 2
"""
PIPELINE = """
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
    torch.manual_seed(rank)
    part = torch.nn.Linear(4, 4 if rank == 0 else 1)
    optimizer = torch.optim.SGD(part.parameters(), 0.05)
    stage = PipelineStage(part, rank, 2, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, 2, loss_fn=lambda a, b: (a - b).square().mean())
    for step in range(3):
        x = torch.full((8, 4), step + 1.0 + (noise if step == 2 else 0))
        schedule.step(x) if rank == 0 else schedule.step(target=x.sum(1, keepdim=True))
        optimizer.step()
        optimizer.zero_grad()
"""


def test_a_function_that_is_asked_for_by_identity_is_that_very_one(trainer, output):
    trainer.script(START.replace("BODY", SENDING.strip()))
    run = trainer.record("train.py", "store", "0")
    assert run.manifest.outcome == "finished", output(run)


@pytest.mark.slow
def test_a_pass_for_shapes_is_no_part_of_the_training(trainer, output):
    trainer.script(START.replace("BODY", PIPELINE.strip()))
    runs = [trainer.record("train.py", f"store{n}", noise) for n, noise in enumerate(["0", "0", "1e-6"])]
    assert {run.manifest.outcome for run in runs} == {"finished"}, output(runs[0])
    for run in runs:
        (last,) = [stem for stem, trace in run.traces().items() if trace.rank == 1]
        steps = [row.step for row in trainer.rows(run, "loss", last)]
        assert steps == [0, 0, 1, 1, 2, 2]  # of two microbatches each
    assert compare(*runs[:2]).verdict == "same"
    assert compare(*runs[1:]).verdict == "differs"
