"""What is wrong with the order and the augmentation of the epochs of several seeds, in words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from samerun.errors import UsageError
from samerun.testing.watch_loader import Observation

Epoch = tuple[int, int]  # its seed and its number
_ROUNDING = 2.0**-21  # of the largest number: a few units in the last place of a float32
_CHANGES = 64  # times that, at least
_FEW = 8  # samples: fewer can fall into the same order by chance


def find_same_order(epochs: dict[Epoch, list[Observation]]) -> str | None:
    """The first two epochs whose samples come in the same order."""
    orders = {epoch: [each.index for each in seen if each.what == "sample"] for epoch, seen in epochs.items()}
    fewest = min(map(len, orders.values()))
    if fewest < _FEW:
        raise UsageError(
            f"an epoch of {fewest} samples can have the same order by chance; give at least {_FEW}"
        )
    for a, b in combinations(orders, 2):
        if orders[a] == orders[b]:
            kept = (
                ", which is that of the dataset"
                if orders[a] == sorted(orders[a], key=_sort_by_number)
                else ""
            )
            return f"order: {_describe_same(a, b, 'the order of the samples')}{kept}"
    return None


def find_same_augmentation(epochs: dict[Epoch, list[Observation]]) -> str | None:
    """The first two epochs with the same samples, or two samples that draw the same random numbers."""
    contents = {
        epoch: {s.index: s.content for s in seen if s.what == "sample"} for epoch, seen in epochs.items()
    }
    for a, b in combinations(contents, 2):
        common = contents[a].keys() & contents[b].keys()
        if len(common) < _FEW:
            raise UsageError(
                f"{_name(a)} and {_name(b)} have {len(common)} samples in common, and at least {_FEW} are "
                "needed to compare what was made of them; give a smaller dataset, and all of it in an epoch"
            )
        if all(contents[a][index] == contents[b][index] for index in common) and not _augments_in_collate(
            a, b, epochs
        ):
            return f"augmentation: {_describe_same(a, b, f'all {len(common)} samples')}"
    return _find_shared_draws(epochs) or _find_shared_change(epochs)


def starts(
    epochs: dict[Epoch, list[Observation]],
) -> Iterator[tuple[tuple[str, bytes], tuple[Epoch, Observation]]]:
    """(generator, the state in which it was found) of all that draws, and what that is in which epoch."""
    for epoch, seen in epochs.items():
        for each in seen:
            for name, state in each.drawn.items():
                yield (name, state), (epoch, each)


def describe_seen(epoch: Epoch, seen: Observation) -> str:
    """Something made, in words."""
    indices = [str(name) for name in seen.index if name not in ("[", "]")]
    what = {"sample": "sample", "batch": "the batch of samples", "collate": "collate_fn for samples"}[
        seen.what
    ]
    where = "" if seen.worker is None else f" in worker {seen.worker}"
    return f"{what} {', '.join(indices[:4])}{', …' if len(indices) > 4 else ''}{where} ({_name(epoch)})"


def _find_shared_draws(epochs: dict[Epoch, list[Observation]]) -> str | None:
    found: dict[tuple[str, bytes], tuple[Epoch, Observation]] = {}
    for start, (epoch, seen) in starts(epochs):
        first_epoch, first = found.setdefault(start, (epoch, seen))
        # A sample that comes twice in an epoch may be the same both times.
        if (first_epoch, first.what, first.index) != (epoch, seen.what, seen.index):
            return (
                f"augmentation: {describe_seen(first_epoch, first)} and "
                f"{describe_seen(epoch, seen)} draw the same "
                f"random numbers from {start[0]}"
            )
    return None


def _find_shared_change(epochs: dict[Epoch, list[Observation]]) -> str | None:
    """Whether one number was added to all samples of an epoch, or multiplied with them, in each epoch."""
    several = [{s.index: s.numbers for s in seen if s.what == "sample"} for seen in epochs.values()]
    common = set.intersection(*map(set, several))
    if len(common) < _FEW or len({len(each[index]) for each in several for index in common}) != 1:
        return None
    # float64[epochs, samples, elements]
    values = np.array([[each[index] for index in sorted(common, key=str)] for each in several])
    if not values.size or not np.isfinite(values).all() or (values == values[:, :1]).all():
        return None
    rounding = _ROUNDING * np.abs(values).max()
    before, after = values[:-1], values[1:]
    if (np.abs(after - before).max((1, 2)) < _CHANGES * rounding).any():
        return None
    squares = (before * before).sum(1, keepdims=True)
    factors = (before * after).sum(1, keepdims=True) / np.where(squares == 0, 1, squares)
    fits = {"added to": before + (after - before).mean(1, keepdims=True), "multiplied with": before * factors}
    for words, fit in fits.items():
        if np.abs(after - fit).max() < rounding:
            return (
                f"augmentation: from epoch to epoch, the same is {words} all {len(common)} samples, as by "
                "noise that is drawn once for an epoch (in set_epoch); draw in __getitem__"
            )
    return None


def _augments_in_collate(a: Epoch, b: Epoch, epochs: dict[Epoch, list[Observation]]) -> bool:
    """Whether collate_fn augments, and not alike in both epochs: what it drew tells."""
    drawn = [{start for start, (_, seen) in starts({e: epochs[e]}) if seen.what == "collate"} for e in (a, b)]
    return bool(drawn[0]) and drawn[0].isdisjoint(drawn[1])


def _describe_same(a: Epoch, b: Epoch, what: str) -> str:
    """Two epochs have the same …, in words."""
    (seed_a, epoch_a), (seed_b, epoch_b) = a, b
    if epoch_a == epoch_b:
        return f"seeds {seed_a} and {seed_b} give {what} alike (epoch {epoch_a})"
    if seed_a == seed_b:
        return f"epochs {epoch_a} and {epoch_b} have {what} alike (seed {seed_a})"
    return (
        f"{_name(a)} and {_name(b)} have {what} alike, as when the seed and the epoch are added; derive it "
        "by hashing: samerun.stream(seed, …, epoch)"
    )


def _name(epoch: Epoch) -> str:
    return f"seed {epoch[0]}, epoch {epoch[1]}"


def _sort_by_number(index: tuple[Any, ...]) -> list[tuple[str, Any]]:
    return [(type(name).__name__, name) for name in index]
