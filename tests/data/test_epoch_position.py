"""Where a training is, when its loader fails in the middle or is iterated twice at once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import IterableDataset

from samerun.data import DataLoader
from samerun.errors import UsageError

BAD = 17


class Corrupt(torch.utils.data.Dataset):
    """40 samples, of which one cannot be read."""

    def __init__(self, error: type[BaseException] = ValueError) -> None:
        self.error = error

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> torch.Tensor:
        if index == BAD:
            raise self.error("corrupt file")
        return torch.tensor([index, random.random()], dtype=torch.float64)


class Broken:
    """An iterator that goes on after an error, as a reader of records may."""

    def __init__(self) -> None:
        self.at = -1

    def __iter__(self) -> Broken:
        return self

    def __next__(self) -> Any:
        self.at += 1
        if self.at == 40:
            raise StopIteration
        return torch.tensor([self.at, random.random()], dtype=torch.float64)


class Records(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return Broken()


def failing(samples: list[Any]) -> torch.Tensor:
    """A collate_fn."""
    if any(int(sample[0]) == BAD for sample in samples):
        raise ValueError("ragged batch")
    return torch.stack(samples)


def received(batches: Iterator[Any], most: int | None = None) -> list[list[float]]:
    """What a loop gets that skips what cannot be made."""
    found: list[list[float]] = []
    while most is None or len(found) < most:
        try:
            found.append(next(batches).flatten().tolist())
        except StopIteration:
            break
        except ValueError:
            continue
    return found


def of_a_map(workers: int) -> DataLoader:
    return DataLoader(Corrupt(), 4, shuffle=True, seed=0, num_workers=workers)


def of_an_iterable(workers: int) -> DataLoader:
    return DataLoader(Records(), 4, seed=0, num_workers=workers, collate_fn=failing)


@pytest.mark.parametrize(
    ("make", "workers"),
    [
        (of_a_map, 0),
        (of_an_iterable, 0),
        (of_a_map, 2),
        pytest.param(of_an_iterable, 2, marks=pytest.mark.slow),
    ],
)
def test_a_skipped_batch_is_neither_repeated_nor_lost(make: Any, workers: int) -> None:
    whole = received(iter(make(workers)))
    assert len(whole) == (18 if make is of_an_iterable and workers else 9)  # each worker has all of it
    for after in (1, 6, 9):
        loader = make(workers)
        batches = iter(loader)
        assert received(batches, after) == whole[:after]
        again = make(workers)
        again.load_state_dict(loader.state_dict())
        assert received(iter(again)) == whole[after:]


@pytest.mark.slow
def test_what_fails_is_tried_again_by_a_run_that_stopped_there() -> None:
    loader = DataLoader(Corrupt(KeyboardInterrupt), 4, seed=0)
    batches = iter(loader)
    for _ in range(BAD // 4):
        next(batches)
    with pytest.raises(KeyboardInterrupt):
        next(batches)
    state = loader.state_dict()
    assert state["batch"] == BAD // 4
    again = DataLoader(Corrupt(UsageError), 4, seed=0)
    again.load_state_dict(state)
    with pytest.raises(UsageError):
        next(iter(again))


def test_persistent_workers_refuse_to_serve_two_iterators() -> None:
    """torch gives the first one the batches of the second."""
    loader = DataLoader(range(40), 8, seed=0, num_workers=2, persistent_workers=True)
    with pytest.raises(UsageError, match="another iterator of this loader has begun since"):
        list(zip(loader, loader, strict=True))
    assert len(list(loader)) == 5
    left = iter(loader)
    next(left)
    assert len(list(loader)) == 5  # the one that was left is asked for nothing more
    with pytest.raises(UsageError):
        next(left)


def test_without_persistent_workers_two_iterators_are_two_epochs() -> None:
    loader = DataLoader(Corrupt(), 8, seed=0, num_workers=1, sampler=range(16))
    one, other = zip(*zip(loader, loader, strict=True), strict=True)
    assert [batch[:, 0].tolist() for batch in one] == [batch[:, 0].tolist() for batch in other]
    assert all(bool((a[:, 1] != b[:, 1]).all()) for a, b in zip(one, other, strict=True))
