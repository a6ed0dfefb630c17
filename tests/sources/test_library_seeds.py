"""A library that seeds by a clock is held as one that gives no seed. Covers `base/library_seeds.py`."""

from __future__ import annotations

import random

import pytest
from trainer import Trainer

from samerun.runs.plan import Control

LIBRARY = """
import os, random, time

def by_clock():
    return random.Random(int((os.getpid() + time.time()) * 1e9))

def by_name():
    parts = (os.getpid(), time.time_ns())
    seed = hash(parts)
    return random.Random(seed)

def with_seed(seed=None):
    if seed is None:
        seed = time.time()
    return random.Random(seed)

def with_default(seed=None):
    chosen = seed if seed is not None else time.time()
    return random.Random(chosen)

def in_branches(seed=None):
    if seed is None:
        chosen = time.time_ns()
    else:
        chosen = seed
    return random.Random(chosen)

def beside(seed):
    rng, start = random.Random(seed), time.time()
    return rng
"""
SCRIPT = """
import sys
import random, shuffles, time
import torch
from torch.utils.data import DataLoader, IterableDataset

make = getattr(shuffles, sys.argv[1])
own = random.Random(time.time_ns())

class Shards(IterableDataset):
    def __iter__(self):
        rng = make(*map(int, sys.argv[3:]))
        yield from (torch.tensor(rng.random()) for _ in range(3))

for _ in range(2):
    for batch in DataLoader(Shards(), 3, num_workers=int(sys.argv[2])):
        print(batch.tolist())
print("own", own.random())
"""


def run(trainer: Trainer, *arguments: str) -> list[str]:
    library = trainer.folder / "venv" / "site-packages"
    library.mkdir(parents=True, exist_ok=True)
    (library / "shuffles.py").write_text(LIBRARY)
    trainer.script(SCRIPT)
    environment = {"PYTHONPATH": str(library)}
    made = trainer.record("train.py", *arguments, env=environment, tier="none", control=Control())
    assert made.outcome == "finished"
    return (made.path / "output.txt").read_text().splitlines()


@pytest.mark.everyday(1)
@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize("how", ["by_clock", "by_name"])
def test_what_a_library_seeds_by_a_clock_repeats_under_control(
    trainer: Trainer, how: str, workers: str
) -> None:
    one, other = (run(trainer, how, workers) for _ in range(2))
    assert one[:-1] == other[:-1]
    assert len(set(one[:-1])) == len(one[:-1])  # other numbers in each pass, and in each worker
    assert one[-1] != other[-1]  # the script's own clock is its own affair: --control clock


@pytest.mark.everyday(2)
@pytest.mark.parametrize("how", ["with_seed", "with_default", "in_branches", "beside"])
def test_a_seed_that_a_library_is_given_stays(trainer: Trainer, how: str) -> None:
    rng = random.Random(5)
    expected = str([rng.random() for _ in range(3)])
    assert [line[:6] for line in run(trainer, how, "0", "5")[:2]] == [expected[:6]] * 2
