"""The standard recipe, for loaders of torch's own: worker_init_fn and generator."""

from __future__ import annotations

import torch
from torch.utils.data import get_worker_info

from samerun.errors import UsageError
from samerun.ranks import rank
from samerun.sources.per_sample import seeder
from samerun.streams import Name, stream, stream_seed


def worker_seed(*path: Name) -> int:
    """64 bits for this worker of this rank in this epoch, and the path; other workers and ranks get others.

    Derived by hashing torch's base seed of the epoch, the rank and the worker. (Persistent workers keep the
    base seed of their first epoch.) Raises UsageError outside of a DataLoader worker.
    """
    info = get_worker_info()
    if info is None:
        raise UsageError("worker_seed() is for DataLoader workers; elsewhere use samerun.stream(seed, …)")
    base = info.seed - info.id  # torch adds the number of the worker
    return stream_seed(base, "rank", rank(), "worker", info.id, *path)


def worker_init_fn(worker_id: int) -> None:
    """Seed python, NumPy and torch in a worker: `DataLoader(…, worker_init_fn=worker_init_fn)`."""
    seeder.seed_all(worker_seed())


def generator(seed: int, *path: Name) -> torch.Generator:
    """A new CPU generator for `DataLoader(…, generator=…)` or `random_split`."""
    return stream(seed, "generator", *path).torch()
