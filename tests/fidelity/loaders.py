"""Loaders of every layout over data that draw, and what is drawn in a few passes over them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    WeightedRandomSampler,
    get_worker_info,
)

SIZE, PASSES = 4, 3
ROWS = 12  # of Noise, which draws one number from each generator for a sample
LIBRARIES: dict[str, Callable[[], float]] = {
    "random": random.random,
    "numpy": lambda: float(np.random.rand()),
    "torch": lambda: torch.rand((), dtype=torch.float64).item(),
}


class Drawing(Dataset[Any]):
    """A sample: its index, and one draw of a library."""

    def __init__(self, library: str) -> None:
        self.library = library

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: Any) -> tuple[int, float]:
        return int(index), LIBRARIES[self.library]()


class Streaming(IterableDataset[Any]):
    """The same as a stream; each worker yields its share."""

    def __init__(self, library: str) -> None:
        self.library = library

    def __iter__(self) -> Iterator[tuple[int, float]]:
        info = get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        for index in range(first, SIZE, step):
            yield index, LIBRARIES[self.library]()


class Forever(torch.utils.data.Sampler[int]):
    """All passes in one iteration, as MMEngine's InfiniteSampler and Ultralytics' loader have it."""

    def __iter__(self) -> Iterator[int]:
        while True:
            yield from torch.randperm(SIZE).tolist()


def _again(loader: DataLoader[Any]) -> Iterator[Any]:
    for epoch in range(PASSES):
        if isinstance(loader.sampler, DistributedSampler):
            loader.sampler.set_epoch(epoch)
        yield from loader


def _loader(data: Any, **options: Any) -> Iterator[Any]:
    return _again(DataLoader(data, **options))


def plain_map(library: str, **options: Any) -> Iterator[Any]:
    return _loader(Drawing(library), batch_size=2, shuffle=True, **options)


def single(library: str, **options: Any) -> Iterator[Any]:
    return _loader(Drawing(library), batch_size=None, **options)


def batch_sampler(library: str, **options: Any) -> Iterator[Any]:
    data = Drawing(library)
    return _loader(data, batch_sampler=BatchSampler(RandomSampler(data), 3, drop_last=False), **options)


def distributed(library: str, **options: Any) -> Iterator[Any]:
    data = Drawing(library)
    return _loader(data, batch_size=2, sampler=DistributedSampler(data, 1, 0), **options)


def never_told(library: str, **options: Any) -> Iterator[Any]:
    """A DistributedSampler whose set_epoch nobody calls."""
    data = Drawing(library)
    loader = DataLoader(data, batch_size=2, sampler=DistributedSampler(data, 1, 0), **options)
    return (batch for _ in range(PASSES) for batch in loader)


def same_seed_each_pass(library: str, **options: Any) -> Iterator[Any]:
    """A generator that is made again, with one seed, for each pass."""
    for _ in range(PASSES):
        generator = torch.Generator().manual_seed(0)
        yield from DataLoader(Drawing(library), batch_size=2, shuffle=True, generator=generator, **options)


def infinite(library: str, **options: Any) -> Iterator[Any]:
    return iter(DataLoader(Drawing(library), batch_size=2, sampler=Forever(), **options))


def with_replacement(library: str, **options: Any) -> Iterator[Any]:
    """One index is drawn again and again: all of its draws lie in one pass."""
    sampler = WeightedRandomSampler([1.0] * SIZE, 40 * SIZE)
    return iter(DataLoader(Drawing(library), batch_size=2, sampler=sampler, **options))


def streaming(library: str, **options: Any) -> Iterator[Any]:
    return _loader(Streaming(library), batch_size=2, **options)


LAYOUTS = (
    plain_map,
    single,
    batch_sampler,
    distributed,
    never_told,
    same_seed_each_pass,
    infinite,
    with_replacement,
    streaming,
)


def drawn(layout: Callable[..., Iterator[Any]], library: str, **options: Any) -> np.ndarray[Any, Any]:
    """The first draws of each sample, float (PASSES, SIZE)."""
    found: list[list[float]] = [[] for _ in range(SIZE)]
    for indices, values in layout(library, **options):
        for index, value in zip(np.ravel(indices).tolist(), np.ravel(values).tolist(), strict=True):
            found[index].append(value)
        if all(len(each) >= PASSES for each in found):
            break
    return np.array([each[:PASSES] for each in found]).T


class Noise(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor([torch.rand(()).item(), random.random(), np.random.random_sample()])


class NoiseStream(IterableDataset[torch.Tensor]):
    def __iter__(self) -> Iterator[torch.Tensor]:
        yield from (Noise()[index] for index in range(ROWS // 2))
