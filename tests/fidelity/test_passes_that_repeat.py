"""A pass over the data that repeats an earlier one in the plain program does so under control, and no other.

A validation is seeded so that each one sees the same noise; a trial is repeated; two loaders are kept in step
by equal generators. What names a pass is in per_sample/dataloaders.py.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset

import samerun
from fidelity.loaders import ROWS, Noise, NoiseStream


def seed(number: int) -> None:
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number)


@contextmanager
def put_back() -> Iterator[None]:
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()
    yield
    torch.set_rng_state(states[0])
    random.setstate(states[1])
    np.random.set_state(states[2])


def seeded_validations(load: Callable[..., Any]) -> Iterator[Any]:
    seed(1)
    for epoch in range(3):
        yield load(shuffle=True)
        with put_back():
            seed(5)
            yield load()
        yield load(shuffle=True)
        if epoch == 1:
            seed(1)


def forked(load: Callable[..., Any]) -> Iterator[Any]:
    for _ in range(2):
        with torch.random.fork_rng():
            torch.manual_seed(3)
            yield load()
        yield load()


def seeded_trials(load: Callable[..., Any]) -> Iterator[Any]:
    for number in (0, 1, 0):
        seed(number)
        for _ in range(2):
            yield load(shuffle=True)


def own_generators(load: Callable[..., Any]) -> Iterator[Any]:
    for number in (4, 4, 5):
        yield load(shuffle=True, generator=torch.Generator().manual_seed(number))


def only_numpy(load: Callable[..., Any]) -> Iterator[Any]:
    for number in (0, 1, 0):
        np.random.seed(number)
        yield load()
        yield load()


def only_torch(load: Callable[..., Any]) -> Iterator[Any]:
    for number in (0, 1, 0):
        torch.manual_seed(number)
        yield load()
        yield load(shuffle=True)


def only_python(load: Callable[..., Any]) -> Iterator[Any]:
    for _ in range(2):
        random.seed(4)
        yield load()
        torch.manual_seed(9)
        yield load()


def taken_back(load: Callable[..., Any]) -> Iterator[Any]:
    yield load()
    for _ in range(2):
        with put_back():
            yield load()
            yield load(shuffle=True)
    yield load()


def rewound(load: Callable[..., Any]) -> Iterator[Any]:
    """To one of several states that were read: samples move none of Python's and NumPy's under control."""
    seed(1)
    kept = []
    for _ in range(4):
        kept.append((random.getstate(), torch.get_rng_state(), np.random.get_state()))
        yield load(shuffle=True)
    for back in (1, 3, 2):
        random.setstate(kept[back][0])  # before torch's, which says which, and after it
        torch.set_rng_state(kept[back][1])
        np.random.set_state(kept[back][2])
        yield load(shuffle=True)
        yield load(shuffle=True)


def isolated(load: Callable[..., Any]) -> Iterator[Any]:
    for _ in range(3):
        yield load()
        with samerun.isolate_rng():
            seed(5)
            yield load()


def nothing_seeded(load: Callable[..., Any]) -> Iterator[Any]:
    for _ in range(4):
        yield load()


PROGRAMS = [
    seeded_validations, forked, seeded_trials, own_generators, only_numpy, only_torch, only_python,
    taken_back, rewound, isolated, nothing_seeded,
]  # fmt: skip


def find_repeats(program: Callable[..., Iterator[Any]], data: type, workers: int) -> list[list[int]]:
    """For each generator and each pass, the number of the first pass that drew the same numbers."""

    def load(**options: Any) -> torch.Tensor:
        if data is NoiseStream:
            options.pop("shuffle", None)
        rows: torch.Tensor = torch.cat(list(DataLoader(data(), 4, num_workers=workers, **options)))
        return rows

    passes = [tuple(rows[:, at].numpy().tobytes() for at in range(3)) for rows in program(load)]
    drawn = zip(*passes, strict=True)
    return [[each.index(one) for one in each] for each in drawn]


@pytest.mark.everyday(12)
@pytest.mark.parametrize("data", [Noise, NoiseStream])
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_passes_that_repeat_are_those_of_the_plain_program(
    program: Callable[..., Iterator[Any]], workers: int, data: type
) -> None:
    torch.seed()  # not where an earlier program has left them
    random.seed()
    np.random.seed()
    plain = find_repeats(program, data, workers)
    for number in (0, 1):
        with samerun.control(seed=number):
            assert find_repeats(program, data, workers) == plain


def test_loaders_with_equal_generators_are_in_step() -> None:
    with samerun.control(seed=0):
        for epoch in range(2):
            one, two = (
                iter(
                    DataLoader(
                        Noise(),
                        4,
                        shuffle=True,
                        num_workers=1,
                        generator=torch.Generator().manual_seed(epoch),
                    )
                )
                for _ in range(2)
            )
            for a, b in zip(one, two, strict=True):
                assert torch.equal(a, b)


def test_what_samples_draw_of_the_systems_entropy_never_repeats() -> None:
    class Unseeded(Noise):
        def __getitem__(self, index: int) -> torch.Tensor:
            return torch.tensor(np.random.default_rng().random(3))

    class UnseededStream(NoiseStream):
        def __iter__(self) -> Iterator[torch.Tensor]:
            yield from (Unseeded()[index] for index in range(ROWS))

    for data, workers in product((Unseeded(), UnseededStream()), (0, 1)):
        with samerun.control(seed=0):
            found = set()
            for _ in range(3):
                seed(0)
                found.update(map(repr, torch.cat(list(DataLoader(data, 4, num_workers=workers)))))
        assert len(found) == 3 * ROWS


def test_an_order_of_its_own_makes_other_samples_of_the_same_base_seed() -> None:
    """As without samerun: workers draw by position, so that a sample draws other numbers in another place."""
    orders = [list(range(ROWS)), [*range(4, ROWS), *range(4)]]
    found: list[dict[int, bytes]] = []
    with samerun.control(seed=0):
        for order in (*orders, orders[0]):
            torch.manual_seed(0)
            rows = torch.cat(list(DataLoader(Noise(), 4, sampler=order, num_workers=2)))
            found.append({index: row.numpy().tobytes() for index, row in zip(order, rows, strict=True)})
    assert found[0] == found[2]
    assert not set(found[0].values()) & set(found[1].values())


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("isolate", [samerun.isolate_rng, torch.random.fork_rng, put_back])
@pytest.mark.parametrize("data", [Noise, NoiseStream])
def test_a_validation_that_is_put_back_changes_no_epoch(
    data: type, isolate: Callable[[], Any], workers: int
) -> None:
    """Nor is its number missed after a resume: a process that begins later has not seen it."""
    others = {} if data is NoiseStream else {"shuffle": True}

    def train(*, validates: bool) -> list[torch.Tensor]:
        epochs = []
        for _ in range(3):
            epochs.append(torch.cat(list(DataLoader(data(), 4, num_workers=workers, **others))))
            with isolate():
                list(DataLoader(data(), 8, num_workers=workers)) if validates else None
        return epochs

    found = []
    for validates in (False, True):
        with samerun.control(seed=0):
            found.append(train(validates=validates))
    assert all(map(torch.equal, *found))
    assert not any(torch.equal(found[0][0], other) for other in found[0][1:])


@pytest.mark.parametrize("by", ["generator", "epoch"])
def test_two_loaders_of_one_data_set_draw_apart(by: str) -> None:
    """Labelled and not: generators that are seeded alike, or one epoch, do not make their samples alike."""
    with samerun.control(seed=0):
        found = []
        for size in (4, 8):
            sampler = DistributedSampler(Noise(), num_replicas=1, rank=0)
            sampler.set_epoch(1)
            own: dict[str, Any] = {"sampler": sampler}
            if by == "generator":
                own = {"generator": torch.Generator().manual_seed(0), "shuffle": True}
            rows = torch.cat(list(DataLoader(Noise(), size, **own)))
            found.append({row.numpy().tobytes() for row in rows})
    assert not found[0] & found[1]


class ByEpoch:
    """A worker_init_fn that seeds by what the training tells it, not by the base seed."""

    epoch = 0

    def __call__(self, worker: int) -> None:
        seed(1000 * self.epoch + worker)


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
@pytest.mark.parametrize("data", [Noise, NoiseStream])
def test_workers_that_are_seeded_otherwise_draw_otherwise(data: type, method: str) -> None:
    """One base seed in all epochs: they repeat where the script's own seeds do, as without us."""
    init = ByEpoch()

    def run(epoch: int) -> bytes:
        init.epoch = epoch
        torch.manual_seed(0)
        loader = DataLoader(data(), 4, num_workers=2, worker_init_fn=init, multiprocessing_context=method)
        return torch.cat(list(loader)).numpy().tobytes()

    epochs = [0, 1, 2, 0, 2]
    for number in (0, 1):
        with samerun.control(seed=number):
            passes = [run(epoch) for epoch in epochs]
        assert [passes.index(each) for each in passes] == [0, 1, 2, 0, 2]
        with samerun.control(seed=number):
            assert [run(epoch) for epoch in epochs] == passes


class SeedsAnew(IterableDataset[torch.Tensor]):
    def __iter__(self) -> Iterator[torch.Tensor]:
        seed_anew()
        yield from (Noise()[index] for index in range(ROWS))


def seed_anew(worker: int = 0) -> None:
    torch.seed()
    random.seed()
    np.random.seed()


@pytest.mark.parametrize(
    ("data", "workers", "init"), [(SeedsAnew(), 0, None), (SeedsAnew(), 1, None), (Noise(), 1, seed_anew)]
)
def test_what_the_system_seeds_in_each_pass_never_repeats(data: Any, workers: int, init: Any) -> None:
    def run() -> list[float]:
        found = []
        for _ in range(3):
            generator = torch.Generator().manual_seed(0)
            loader = DataLoader(data, 4, num_workers=workers, worker_init_fn=init, generator=generator)
            found += torch.cat(list(loader)).flatten().tolist()
        return found

    with samerun.control(seed=0):
        first = run()
    assert len(set(first)) == len(first)
    if init is None:  # else by the place of the worker, whom a second control has others of
        with samerun.control(seed=0):
            assert run() == first


class SeedsItself(IterableDataset[torch.Tensor]):
    def __init__(self, column: int) -> None:
        self.column = column

    def __iter__(self) -> Iterator[torch.Tensor]:
        (torch.manual_seed, random.seed, np.random.seed)[self.column](7)
        yield from (Noise()[index] for index in range(ROWS))


@pytest.mark.parametrize("column", range(3))
@pytest.mark.parametrize("workers", [0, 2])
def test_what_an_iterable_dataset_seeds_in_a_pass_goes_on_with_its_own_numbers(
    workers: int, column: int
) -> None:
    """Workers that seed themselves alike share out what they shuffle: other numbers lose and double data."""

    def load() -> torch.Tensor:
        return torch.stack(list(DataLoader(SeedsItself(column), batch_size=None, num_workers=workers)))

    plain = load()[:, column]
    with samerun.control(seed=0):
        first, second = load(), load()
        here = random.random(), float(np.random.random_sample())
    with samerun.control(seed=0):
        assert here == (random.random(), float(np.random.random_sample()))  # samples draw apart
    assert torch.equal(first[:, column], plain) and torch.equal(second[:, column], plain)
    for other in {0, 1, 2} - {column}:
        assert len({*first[:, other].tolist(), *second[:, other].tolist()}) == len(first) * 2
