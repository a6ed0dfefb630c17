"""Ranks draw the same numbers for a sample where they do in the plain program, generator by generator.

They may share their data: tensor parallelism, a validation that each rank makes whole. What tells their
passes apart is in per_sample/dataloaders.py.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, DistributedSampler

import samerun
from fidelity.loaders import Noise, NoiseStream

WORLD = 2


def seed(torchs: int, others: int) -> None:
    torch.manual_seed(torchs)
    random.seed(others)
    np.random.seed(others)


def alike(rank: int) -> Any:
    return seed(1, 1)


def torch_alone(rank: int) -> Any:
    return seed(1, rank)


def apart(rank: int) -> Any:
    return seed(rank, 1)


def by_recipe(rank: int) -> Any:
    """https://docs.pytorch.org/docs/stable/notes/randomness.html#dataloader."""
    seed(1, 1)
    return seed_worker


def seed_worker(worker: int) -> None:
    number = torch.initial_seed() % 2**32
    np.random.seed(number)
    random.seed(number)


def by_rank(rank: int) -> Any:
    seed(1, 1)
    return lambda worker: np.random.seed(100 * rank + worker)


def draw(
    rank: int,
    program: Callable[[int], Any],
    kind: type,
    workers: int,
    patch: pytest.MonkeyPatch,
    control: bool,
) -> list[tuple[float, ...]]:
    """What a rank draws in two passes: of each sample from torch, Python and NumPy."""
    patch.setenv("RANK", str(rank))
    patch.setenv("WORLD_SIZE", str(WORLD))
    with samerun.control(seed=0) if control else nullcontext():
        init = program(rank)
        data = kind()
        return [
            tuple(row)
            for _ in range(2)
            for batch in DataLoader(data, 2, num_workers=workers, worker_init_fn=init)
            for row in batch.tolist()
        ]


def find_equal(one: list[tuple[float, ...]], other: list[tuple[float, ...]]) -> list[bool]:
    """Of each generator, whether all of its numbers are the same; else none is."""
    pairs = [list(zip(mine, theirs, strict=True)) for mine, theirs in zip(one, other, strict=True)]
    found = [{row[generator][0] == row[generator][1] for row in pairs} for generator in range(3)]
    assert all(len(each) == 1 for each in found)
    return [each.pop() for each in found]


@pytest.mark.parametrize("kind", [Noise, NoiseStream])
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("program", [alike, torch_alone, apart, by_recipe, by_rank])
@pytest.mark.filterwarnings("ignore:PYTHONHASHSEED was not set")
def test_they_do_where_they_do_in_the_plain_program(
    program: Callable[[int], Any], workers: int, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, ours = (
        [draw(rank, program, kind, workers, monkeypatch, control) for rank in range(WORLD)]
        for control in (False, True)
    )
    assert find_equal(*ours) == find_equal(*plain)
    assert len({number for row in ours[1] for number in row}) == 3 * len(ours[1])
    assert draw(1, program, kind, workers, monkeypatch, True) == ours[1]


@pytest.mark.filterwarnings("ignore:PYTHONHASHSEED was not set")
def test_each_has_numbers_of_its_own_where_a_sampler_gives_it_a_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A sample that fills up the share of two ranks is not augmented alike."""
    monkeypatch.setenv("WORLD_SIZE", str(WORLD))
    found = []
    for rank in range(WORLD):
        monkeypatch.setenv("RANK", str(rank))
        with samerun.control(seed=0):
            seed(1, 1)
            sampler: DistributedSampler[Any] = DistributedSampler(Noise(), WORLD, rank)
            found.append(
                [number for batch in DataLoader(Noise(), 2, sampler=sampler) for number in batch.tolist()]
            )
    assert not any(np.isin(found[0], found[1]).ravel())


@pytest.mark.filterwarnings("ignore:PYTHONHASHSEED was not set")
def test_ranks_with_one_share_draw_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two ranks split a replica of the model among them, and there are two replicas."""
    monkeypatch.setenv("WORLD_SIZE", "4")
    found = []
    for rank in range(4):
        monkeypatch.setenv("RANK", str(rank))
        with samerun.control(seed=0):
            seed(1, 1)
            sampler: DistributedSampler[Any] = DistributedSampler(Noise(), 2, rank // 2)
            loader = DataLoader(Noise(), 2, sampler=sampler)
            found.append([number for batch in loader for number in batch.tolist()])
    assert found[0] == found[1] and found[2] == found[3]
    assert not any(np.isin(found[0], found[2]).ravel())
