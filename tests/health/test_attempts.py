"""Ranks of a job that was put into the queue again, by what their launchers gave them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from trainer import Trainer

from samerun.health.attempts import list_attempts, may_be_of_one
from samerun.health.examine import examine

from .scripts import HEAD

AGAIN = """
import sys
import torch.distributed as dist
dist.init_process_group("gloo")
torch.manual_seed(int(sys.argv[1]))
model = nn.parallel.DistributedDataParallel(nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.full((8, 4), dist.get_rank() + 1.0)).sum().backward()
    optimizer.step()
dist.destroy_process_group()
"""


def process(rank: int, *place: str | int, world: int = 2, **variables: str) -> Any:
    meta = {"place": [*place, "rank", str(rank)], "world_size": world, "variables": variables}
    return SimpleNamespace(trace=SimpleNamespace(rank=rank, meta=meta))


def test_ranks_of_one_launch_are_of_one_attempt() -> None:
    first = [process(rank, MASTER_PORT="1", LOCAL_RANK=str(rank)) for rank in (0, 1)]
    second = [process(rank, "again", 1, MASTER_PORT="2", LOCAL_RANK=str(rank)) for rank in (0, 1)]
    mixed = [first[0], second[0], first[1], second[1]]
    assert list_attempts(mixed) == [first, second]


def test_one_launch_may_be_from_several_places() -> None:
    """Two nodes, each with a launcher; and a process that was started by another rank."""
    nodes = [process(0, TORCHELASTIC_RUN_ID="1"), process(1, "again", 1, TORCHELASTIC_RUN_ID="1")]
    assert list_attempts(nodes) == [nodes]
    started = [process(0), process(1, "process", 0, MASTER_PORT="1")]
    assert list_attempts(started) == [started]


def test_the_place_decides_where_the_variables_are_equal() -> None:
    first = [process(rank, MASTER_PORT="1") for rank in (0, 1)]
    second = [process(rank, "again", 1, MASTER_PORT="1") for rank in (0, 1)]
    assert list_attempts([*first, *second]) == [first, second]


def test_what_cannot_be_told_apart_is_left_out() -> None:
    assert list_attempts([process(0), process(1), process(0), process(1)]) == []


@pytest.mark.parametrize("name", ["TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_PORT"])
def test_another_launch_is_another_attempt(name: str) -> None:
    one, other, same = process(0, **{name: "1"}), process(1, **{name: "2"}), process(1, **{name: "1"})
    assert may_be_of_one(one.trace, same.trace)
    assert not may_be_of_one(one.trace, other.trace)
    assert not may_be_of_one(one.trace, process(1, world=3).trace)


@pytest.mark.slow
def test_attempts_that_hold_other_weights_are_well(trainer: Trainer) -> None:
    trainer.script(HEAD + AGAIN)
    torchrun = "python -m torch.distributed.run --standalone --nproc-per-node 2 train.py"
    run = trainer.record("bash", "-c", f"for seed in 1 2; do {torchrun} $seed || exit 1; done")
    assert run.outcome == "finished", (run.path / "output.txt").read_text()
    assert not [note for note in examine(run) if "other weights" in note]
