"""The three generators that datasets draw from, seeded and swapped together, fast and unseen by observers.

Seeding happens before every sample, so it must cost little beside the sample, whose own code has emptied the
caches: what counts is how much memory and how much code is touched. The words of all three states for a batch
come from a few operations on arrays (samerun.mersenne); before a sample, its row is written where each
generator keeps its state (samerun.sources._memories).
"""

from __future__ import annotations

import functools
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from samerun.mersenne import FRESH, LIBRARIES, POSITION, WORDS, Words
from samerun.sources import _memories
from samerun.sources._memories import NO_NORMAL, Place
from samerun.streams import stream_seed

State = Any
_AT_ONCE = 64  # seeds whose words are made together: more calls for fewer, more memory for more


class _Rows:
    """The states of a few seeds, as each generator keeps its own in memory."""

    def __init__(self) -> None:
        import numpy

        size, begin = _memories.ROW // 8, _memories.WORDS_AT // 8
        content: Any = numpy.zeros((_AT_ONCE, len(LIBRARIES), size), numpy.uint64)
        self._words = Words(content[:, :, begin : begin + WORDS // 2])
        narrow = content.view(numpy.uint32)
        position, end = 2 * begin - 1, 2 * begin + WORDS
        narrow[:, 0, position] = narrow[:, 1, end] = POSITION
        narrow[:, 2, position - 2 : position + 1] = FRESH + 1, 1, POSITION  # as torch counts; it is seeded
        # torch's initial_seed()
        self._seeds = (
            narrow[:, 2, position - 4 : position - 2],
            self._words.seeds.view(numpy.uint32).reshape(-1, 2),
        )
        memory = memoryview(content).cast("B")
        parts = _memories.PYTHON, _memories.NUMPY, _memories.TORCH
        rows = [memory[begin : begin + _memories.ROW] for begin in range(0, len(memory), _memories.ROW)]
        each = [row[parts[n % 3]] for n, row in enumerate(rows)]
        self.rows = list(zip(each[0::3], each[1::3], each[2::3], strict=True))

    def fill(self, seeds: Sequence[int]) -> None:
        """Make the states of up to _AT_ONCE seeds."""
        self._words.make(seeds)
        into, seen = self._seeds
        into[:] = seen


class _Making:
    """The seed of what is being made here, and how often entropy was asked for in making it."""

    seed: int | None = None
    asked = 0


_making = _Making()


class _Seeder:
    """Writes the states of one seed after the other into the generators of this process."""

    def __init__(self) -> None:
        import torch

        self._free: list[_Rows] = []
        self._python = _memories.of_python()
        self._torch = _memories.of_torch(torch.default_generator)
        self._legacy: Any = None
        self._bits: Any = None

    def each(self, seeds: Sequence[int]) -> Iterator[int]:
        """Give each seed when the generators have been seeded with it."""
        from numpy.random import mtrand

        making, inner = _making, random._inst
        live_python, live_torch = self._python.live, self._torch.live
        legacy, bits, live_numpy, live_normal = self._numpy_now(mtrand)
        # Rows for each call that is under way: a sample may load others, and threads may load.
        made = self._free.pop() if self._free else _Rows()
        try:
            for begin in range(0, len(seeds), _AT_ONCE):
                some = seeds[begin : begin + _AT_ONCE]
                made.fill(some)
                for seed, (python, numpys, torchs) in zip(some, made.rows, strict=False):
                    live_python[:] = python
                    inner.gauss_next = None  # type: ignore[attr-defined]
                    if legacy._bit_generator is not bits:
                        legacy, bits, live_numpy, live_normal = self._numpy_now(mtrand)
                    live_numpy[:] = numpys
                    live_normal[:] = NO_NORMAL
                    live_torch[:] = torchs
                    making.seed, making.asked = seed, 0
                    yield seed
        finally:
            self._free.append(made)

    def _numpy_now(self, mtrand: Any) -> tuple[Any, Any, Any, Any]:
        words, normal = self.numpy(mtrand)
        return self._legacy, self._bits, words.live, normal.live

    def numpy(self, mtrand: Any) -> tuple[Place, Place]:
        """Where numpy's legacy generator is: found again when somebody gave it other bits."""
        legacy = mtrand._rand
        if legacy is not self._legacy or legacy._bit_generator is not self._bits:
            self._legacy, self._bits = legacy, legacy._bit_generator
            self._numpy = _memories.of_numpy(legacy)
        return self._numpy

    def places(self) -> list[Place]:
        """Of all generators there are; numpy's are not before numpy.random is imported."""
        mtrand = sys.modules.get("numpy.random.mtrand")
        return [self._python, self._torch, *(self.numpy(mtrand) if mtrand else ())]


@functools.cache
def _seeder() -> _Seeder:
    return _Seeder()


def entropy() -> int | None:
    """64 bits, new ones each time, for a generator without a seed that a keyed sample makes; else None."""
    if _making.seed is None:
        return None
    _making.asked += 1
    return stream_seed(_making.seed, "entropy", _making.asked)


def seed_all(seed: int) -> None:
    """Seed python's, numpy's legacy and torch's CPU generator with 64 bits."""
    next(_seeder().each((seed,)))


def seeded_with_each(seeds: Sequence[int]) -> Iterator[int]:
    """Give each seed when the generators have been seeded with it: cheaper than `seed_all` one by one."""
    return _seeder().each(seeds)


def capture() -> State:
    """Their states, for `restore` in this process."""
    kept = [(place, place.read()) for place in _seeder().places()]
    return kept, random._inst.gauss_next, _making.seed, _making.asked  # type: ignore[attr-defined]


def restore(state: State) -> None:
    """Put back what `capture` gave."""
    kept, random._inst.gauss_next, _making.seed, _making.asked = state  # type: ignore[attr-defined]
    for place, was in kept:
        place.restore(was)


def apart(call: Callable[..., Any], *args: Any) -> Any:
    """Call, and leave the generators as they were before."""
    before = capture()
    try:
        return call(*args)
    finally:
        restore(before)
