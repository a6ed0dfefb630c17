"""The DataLoaders of one process: their passes, and which of them feed the training."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from samerun.runs.details import parse_detail
from samerun.runs.reading import Trace

_MOST = 50_000  # records that are looked at


@dataclass(frozen=True)
class Pass:
    """One pass over the data of a loader."""

    loader: int
    number: int
    dataset: str
    at: int  # the position of its record
    call_site: str | None
    workers: tuple[int, ...]  # the ids of their processes
    iterable: bool  # the dataset hands out its samples in its own order
    batches: list[bytes] = field(default_factory=list)  # the digests of the first of them


@dataclass(frozen=True)
class Loaders:
    """Those of one process."""

    passes: list[Pass]
    training: frozenset[int]  # the numbers of those whose batches lead to a loss
    begun: frozenset[int]  # the steps in which a pass begins
    batches: list[tuple[int, int]]  # of each batch the position of its record, and its loader

    def end(self, loader: int) -> int:
        """The position of its last batch."""
        return max((position for position, number in self.batches if number == loader), default=-1)

    def trains_with(self, position: int) -> bool:
        """Whether what is recorded at a position was done to make a batch of a training loader."""
        following = bisect.bisect(self.batches, (position, -1))
        return following < len(self.batches) and self.batches[following][1] in self.training

    def of(self, pid: int) -> Pass | None:
        """The pass that a worker process began with."""
        return next((item for item in self.passes if pid in item.workers), None)


class _PassDetail(msgspec.Struct):
    """What the detail of a pass or a batch tells."""

    loader: int = -1
    number: int = msgspec.field(default=-1, name="pass")
    workers: tuple[int, ...] = ()
    iterable: bool = False


def read_loaders(trace: Trace) -> Loaders:
    """The loaders of the process that wrote a trace."""
    import numpy as np

    mask = trace.is_one_of("what", {"batch", "loss", "pass", "output"})
    mask &= ~trace.is_one_of("what", {"output"}) | trace.is_one_of("phase", {"evaluation"})
    mask[np.flatnonzero(mask)[_MOST:]] = False
    passes: dict[tuple[int, int], Pass] = {}
    seen = _Loading()
    batches: list[tuple[int, int]] = []
    begun: set[int] = set()
    for at, row in zip(np.flatnonzero(mask).tolist(), trace.rows(mask), strict=True):
        known = parse_detail(row.detail, _PassDetail) or _PassDetail()
        key = known.loader, known.number
        if row.what == "pass":
            begun.add(row.step)
            passes[key] = Pass(
                *key,
                dataset=row.name or "",
                at=at,
                call_site=row.call_site,
                workers=known.workers,
                iterable=known.iterable,
            )
        elif row.what == "batch":
            seen.batch(known.loader)
            batches.append((at, known.loader))
            of = passes.get(key)
            if of is not None and row.digest is not None:
                of.batches.append(row.digest)
        elif row.what == "loss":
            seen.loss()
        else:
            seen.evaluated()
    return Loaders(list(passes.values()), frozenset(seen.training()), frozenset(begun), batches)


class _Loading:
    """Which loader's batches are followed by losses.

    Most of a training loader's are, at once or with those of another loader between them, and with no
    evaluation between them.
    """

    def __init__(self) -> None:
        self._batches: Counter[int] = Counter()
        self._losses: Counter[int] = Counter()  # right after a batch of this loader
        self._led: Counter[int] = Counter()  # batches that a loss came after, and no evaluation before that
        self._waiting: set[int] = set()
        self._last: int | None = None

    def batch(self, loader: int) -> None:
        self._batches[loader] += 1
        self._waiting.add(loader)
        self._last = loader

    def loss(self) -> None:
        self._led.update(self._waiting)
        self._waiting.clear()
        if self._last is not None:
            self._losses[self._last] += 1

    def evaluated(self) -> None:
        self._waiting.clear()

    def training(self) -> Iterable[int]:
        for loader, count in self._batches.items():
            if 2 * max(self._losses[loader], self._led[loader]) >= count:
                yield loader
