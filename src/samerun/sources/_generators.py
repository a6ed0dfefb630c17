"""The three generators that datasets draw from, seeded and swapped together, fast and unseen by observers.

Seeding happens before every sample, so it must cost little beside the sample. The words of all three states
come from one multiplication (samerun.mersenne); they are written where each generator keeps them. Where that
is not found to work as expected, they go in through the generator's own `setstate`: slower, the same state.
"""

from __future__ import annotations

import ctypes
import functools
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from samerun.mersenne import LIBRARIES, POSITION, WORDS, TorchStates, fill
from samerun.streams import stream_seed

State = tuple[Any, Any, Any, Any]
_AT_ONCE = 32  # seeds whose words are made together: what fits in a cache
_TAIL = 4 * (WORDS - 1)  # from here on: the last word and the position


class _Rows:
    """The states of a few seeds, as each generator keeps its own in memory."""

    def __init__(self) -> None:
        import numpy

        self._out = numpy.empty((_AT_ONCE, len(LIBRARIES), WORDS), numpy.uint64)
        self._python = numpy.full((_AT_ONCE, 1 + WORDS), POSITION, numpy.uint32)  # the position comes first
        self._numpy = numpy.full((_AT_ONCE, WORDS + 1), POSITION, numpy.uint32)  # the position comes last
        self._torch = TorchStates(_AT_ONCE)
        rows = zip(map(_bytes, self._python), map(_bytes, self._numpy), self._torch.states, strict=True)
        self.rows = list(rows)

    def fill(self, seeds: Sequence[int]) -> None:
        """Make the states of up to _AT_ONCE seeds."""
        import numpy

        n = len(seeds)
        column = numpy.array(seeds, numpy.uint64)
        words = fill(column, self._out[:n])
        self._python[:n, 1:] = words[:, 0]
        self._numpy[:n, :WORDS] = words[:, 1]
        self._torch.fill(column, words[:, 2])


class _Seeder:
    """Writes the states of one seed after the other into the generators of this process."""

    def __init__(self) -> None:
        import torch

        self._free: list[_Rows] = []
        self._python = _python_memory()
        self._torch_generator = torch.default_generator
        self._numpy_state: Any = None
        self._numpy_bits: Any = None
        self._numpy: Any = None
        self._last: Any = None  # what was written to numpy's memory last

    def each(self, seeds: Sequence[int]) -> Iterator[int]:
        """Give each seed when the generators have been seeded with it."""
        import numpy

        legacy = numpy.random.mtrand
        # Rows for each call that is under way: a sample may load others, and threads may load.
        made = self._free.pop() if self._free else _Rows()
        try:
            for begin in range(0, len(seeds), _AT_ONCE):
                some = seeds[begin : begin + _AT_ONCE]
                made.fill(some)
                for seed, (python, numpys, torchs) in zip(some, made.rows, strict=False):
                    self._seed_python(python)
                    self._seed_numpy(legacy._rand, numpys)
                    self._torch_generator.set_state(torchs)
                    _Making.seed, _Making.asked = seed, 0
                    yield seed
        finally:
            self._free.append(made)

    def _seed_python(self, row: memoryview) -> None:
        if self._python is None:
            position, *words = row.cast("I")
            random.setstate((3, (*words, position), None))
        else:
            self._python[:] = row
            random._inst.gauss_next = None  # type: ignore[attr-defined]

    def _seed_numpy(self, state: Any, row: memoryview) -> None:
        if state is not self._numpy_state or state._bit_generator is not self._numpy_bits:
            self._find(state)
        memory = self._numpy
        if memory is None:
            *words, position = row.cast("I")
            state.set_state(("MT19937", words, position, 0, 0.0))
            return
        # Drawn from, when the last word or the position is another: forget the second of a pair of normals.
        if self._last is None or memory[_TAIL:] != self._last[_TAIL:]:
            state.seed(0)
        memory[:] = row
        self._last = row

    def forget(self) -> None:
        """Somebody else sets the states."""
        self._last = None

    def _find(self, state: Any) -> None:
        """Where numpy's legacy generator keeps its words (`state_address` is numpy's public way to them)."""
        self._numpy_state, self._numpy_bits, self._numpy = state, state._bit_generator, None
        self.forget()
        if type(self._numpy_bits).__name__ != "MT19937":
            return  # somebody's np.random.set_bit_generator: set_state says what it thinks of our words
        memory = _memory(self._numpy_bits.ctypes.state_address)
        *words, position = memory.cast("I")
        kept = state.get_state()
        if words == kept[1].tolist() and position == kept[2]:
            self._numpy = memory


def _memory(address: int) -> memoryview:
    """The live memory of a generator: 625 numbers of 32 bits, as bytes."""
    held: Any = (ctypes.c_char * (4 * (WORDS + 1))).from_address(address)
    return memoryview(held).cast("B")


def _bytes(row: Any) -> memoryview:
    return memoryview(row).cast("B")


def _python_memory() -> memoryview | None:
    """The live memory of python's global generator: its position, then its words.

    None where it is not what CPython's `RandomObject` says (a Python other than CPython, another layout).
    """
    if sys.implementation.name != "cpython":
        return None
    memory = _memory(id(random._inst) + object.__basicsize__)
    position, *words = memory.cast("I")
    return memory if (*words, position) == random.getstate()[1] else None


@functools.cache
def _seeder() -> _Seeder:
    return _Seeder()


class _Making:
    """The seed of what is being made here, and how often entropy was asked for in making it."""

    seed: int | None = None
    asked = 0


def entropy() -> int | None:
    """64 bits, new ones each time, for a generator without a seed that a keyed sample makes; else None."""
    if _Making.seed is None:
        return None
    _Making.asked += 1
    return stream_seed(_Making.seed, "entropy", _Making.asked)


def seed_all(seed: int) -> None:
    """Seed python's, numpy's legacy and torch's CPU generator with 64 bits."""
    next(_seeder().each((seed,)))


def seeded_with_each(seeds: Sequence[int]) -> Iterator[int]:
    """Give each seed when the generators have been seeded with it: cheaper than `seed_all` one by one."""
    return _seeder().each(seeds)


def capture() -> State:
    """Their states, for `restore` in this process."""
    import torch

    numpy = sys.modules.get("numpy.random")
    making = _Making.seed, _Making.asked
    return random.getstate(), numpy and numpy.get_state(), torch.default_generator.get_state(), making


def restore(state: State) -> None:
    """Put back what `capture` gave."""
    import torch

    _seeder().forget()
    random.setstate(state[0])
    if state[1] is not None:
        sys.modules["numpy.random"].set_state(state[1])
    torch.default_generator.set_state(state[2])
    _Making.seed, _Making.asked = state[3]


def apart(call: Callable[..., Any], *args: Any) -> Any:
    """Call, and leave the generators as they were before."""
    before = capture()
    try:
        return call(*args)
    finally:
        restore(before)
