"""The standard recipe for loaders of torch's own.

Covers `__init__.py`, whose names are found when they are asked for.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import samerun.data
from samerun.data import generator, worker_init_fn, worker_seed
from samerun.errors import UsageError


class Drawing(Dataset[tuple[float, float, float, int]]):
    """Each sample is what python, NumPy and torch draw, and the seed of the worker."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> tuple[float, float, float, int]:
        return random.random(), float(np.random.rand()), torch.rand(1).item(), worker_seed("more") % 2**53


def drawn(seed: int) -> list[tuple[float, ...]]:
    made = DataLoader(
        Drawing(),
        batch_size=None,
        num_workers=2,
        worker_init_fn=worker_init_fn,
        generator=torch.Generator().manual_seed(seed),
    )
    return list(made)


def test_each_worker_draws_its_own_and_the_same_again() -> None:
    first = drawn(1)
    assert first == drawn(1)
    assert all(one != other for one, other in zip(*first, strict=True))
    assert all(one != other for one, other in zip(first[0], drawn(2)[0], strict=True))


def test_a_seed_of_a_worker_is_asked_for_in_a_worker() -> None:
    with pytest.raises(UsageError, match="for DataLoader workers"):
        worker_seed()


def test_a_generator_follows_its_seed_and_path() -> None:
    made = [generator(*key).initial_seed() for key in ((1,), (1,), (2,), (1, "split"))]
    assert made[0] == made[1]
    assert len(set(made)) == 3


def test_every_public_name_is_there() -> None:
    assert all(callable(getattr(samerun.data, name)) for name in samerun.data.__all__)
    with pytest.raises(AttributeError):
        _ = samerun.data.nothing
