"""The DataLoaders of one process: their passes, and which of them feed the training."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from samerun.runs import untrusted
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
        said = parse_json(row.detail)
        if row.what == "pass":
            key = _number(said, "loader"), _number(said, "pass")
            begun.add(row.step)
            passes[key] = Pass(
                *key,
                dataset=row.name or "",
                at=at,
                call_site=row.call_site,
                workers=tuple(pid for pid in said.get("workers", ()) if isinstance(pid, int)),
                iterable=said.get("iterable") is True,
            )
        elif row.what == "batch":
            loader = _number(said, "loader")
            seen.batch(loader)
            batches.append((at, loader))
            of = passes.get((loader, _number(said, "pass")))
            if of is not None and row.digest is not None:
                of.batches.append(row.digest)
        elif row.what == "loss":
            seen.loss()
        else:
            seen.evaluated()
    return Loaders(list(passes.values()), frozenset(seen.training()), frozenset(begun), batches)


def parse_json(detail: str | None) -> Mapping[str, Any]:
    """The JSON object of a record's detail; an empty one where there is none."""
    try:
        said = untrusted.parse_json(detail or "")
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _number(said: Mapping[str, Any], key: str) -> int:
    value = said.get(key)
    return value if isinstance(value, int) else -1


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
