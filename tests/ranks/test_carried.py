"""The workers of a rank know it, however they and the rank were started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import random, sys
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.utils.data import IterableDataset, get_worker_info
import samerun.ranks
from samerun.data import DataLoader, worker_init_fn, worker_seed

class Drawn(IterableDataset):
    def __iter__(self):
        yield samerun.ranks.rank(), samerun.ranks.world_size(), random.random(), 0.0

class Own(torch.utils.data.Dataset):
    def __len__(self):
        return 1
    def __getitem__(self, index):
        ranks = samerun.ranks.rank(), samerun.ranks.world_size()
        return *ranks, random.random(), float(worker_seed() % 2**20)

def ranks():
    return samerun.ranks.rank(), samerun.ranks.world_size()

def work(rank, path, method, queue):
    dist.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=2)
    torch.manual_seed(0)
    loaders = [
        DataLoader(Drawn(), None, seed=0, num_workers=1, multiprocessing_context=method),
        torch.utils.data.DataLoader(
            Own(), None, num_workers=1, multiprocessing_context=method, worker_init_fn=worker_init_fn
        ),
    ]
    found = [tuple(next(iter(loader))) for loader in loaders]
    if method == "spawn":
        with mp.get_context(method).Pool(1) as pool:
            found.append((*pool.apply(ranks), 0.0, 0.0))
    dist.barrier()
    dist.destroy_process_group()
    queue.put((rank, found))

if __name__ == "__main__":
    path, method = sys.argv[1:]
    queue = mp.get_context("spawn").SimpleQueue()
    context = mp.spawn(work, (path, method, queue), nprocs=2, join=False)
    got = dict(queue.get() for _ in range(2))
    while not context.join():
        pass
    for rank in (0, 1):
        assert all(tuple(found[:2]) == (rank, 2) for found in got[rank]), got
    assert got[0][0][2] != got[1][0][2], got  # a keyed loader's items
    assert got[0][1][2:] != got[1][1][2:], got  # a stock loader's, by worker_init_fn and worker_seed
    print("as they should be")
"""


@pytest.mark.parametrize(
    "method",
    [
        "fork",
        pytest.param("spawn", marks=pytest.mark.slow),  # nine processes that import torch
        pytest.param("forkserver", marks=pytest.mark.slow),
    ],
)
def test_ranks_given_to_init_process_group_alone_reach_the_workers(method: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    plain = {name: text for name, text in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "meet"), method],
        env={**plain, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.stdout.splitlines()[-1:] == ["as they should be"], done.stderr


def test_a_process_of_no_rank_says_nothing(tmp_path: Path) -> None:
    script = tmp_path / "alone.py"
    script.write_text(
        """
import multiprocessing, os
from samerun import ranks
def say(queue):
    first = ranks.rank(), ranks.world_size()
    os.environ.update(RANK="1", WORLD_SIZE="2")
    queue.put((first, (ranks.rank(), ranks.world_size())))
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    for name, number in (("RANK", "3"), ("WORLD_SIZE", "4")):
        process = context.Process(target=say, args=(queue,))
        process.start()
        print(queue.get())
        process.join()
        os.environ.update(RANK="3", WORLD_SIZE="4")
"""
    )
    plain = {name: text for name, text in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    done = subprocess.run(
        [sys.executable, str(script)], env=plain, capture_output=True, text=True, timeout=100
    )
    assert done.stdout.splitlines() == ["((0, 1), (1, 2))", "((3, 4), (1, 2))"], done.stderr
