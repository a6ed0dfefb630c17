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

from samerun.mersenne import LIBRARIES, POSITION, WORDS, TorchState, fill
from samerun.streams import stream_seed

State = tuple[Any, Any, Any, Any]
_AT_ONCE = 32  # seeds whose words are made together: what fits in a cache


class _Seeder:
    """Writes the states of one seed after the other into the generators of this process."""

    def __init__(self) -> None:
        import torch

        self._free: list[tuple[Any, Any]] = []
        memory = _python_memory()
        self._python = None if memory is None else (memory[1:], memory[:1])
        self._torch_generator = torch.default_generator
        self._torch = TorchState()
        self._numpy_state: Any = None
        self._numpy_bits: Any = None
        self._numpy: Any = None

    def each(self, seeds: Sequence[int]) -> Iterator[int]:
        """Give each seed when the generators have been seeded with it."""
        import numpy

        legacy = numpy.random.mtrand
        # A buffer for each call that is under way: a sample may load others, and threads may load.
        out, rows = self._free.pop() if self._free else _buffer()
        try:
            for begin in range(0, len(seeds), _AT_ONCE):
                some = seeds[begin : begin + _AT_ONCE]
                fill(numpy.array(some, numpy.uint64), out[: len(some)])
                for seed, (python, numpys, torchs) in zip(some, rows, strict=False):
                    self._seed_python(python)
                    self._seed_numpy(legacy._rand, numpys)
                    self._torch_generator.set_state(self._torch.of(seed, torchs))
                    _Making.seed, _Making.asked = seed, 0
                    yield seed
        finally:
            self._free.append((out, rows))

    def _seed_python(self, words: Any) -> None:
        if self._python is None:
            random.setstate((3, (*words.tolist(), POSITION), None))
            return
        held, position = self._python
        held[:] = words
        position[0] = POSITION
        random._inst.gauss_next = None  # type: ignore[attr-defined]

    def _seed_numpy(self, state: Any, words: Any) -> None:
        if state is not self._numpy_state or state._bit_generator is not self._numpy_bits:
            self._find(state)
        if self._numpy is None:
            state.set_state(("MT19937", words, POSITION, 0, 0.0))
            return
        held, position = self._numpy
        if position[0] != POSITION:  # drawn from: forget the second number of a pair of normals
            state.seed(0)
        held[:] = words
        position[0] = POSITION

    def _find(self, state: Any) -> None:
        """Where numpy's legacy generator keeps its words (`state_address` is numpy's public way to them)."""
        import numpy

        self._numpy_state, self._numpy_bits, self._numpy = state, state._bit_generator, None
        if type(self._numpy_bits).__name__ != "MT19937":
            return  # somebody's np.random.set_bit_generator: set_state says what it thinks of our words
        address = self._numpy_bits.ctypes.state_address
        at: Any = (ctypes.c_uint32 * (WORDS + 1)).from_address(address)
        memory = numpy.frombuffer(at, numpy.uint32)
        kept = state.get_state()
        if list(memory[:WORDS]) == list(kept[1]) and memory[WORDS] == kept[2]:
            self._numpy = memory[:WORDS], memory[WORDS:]
            state.seed(0)


def _buffer() -> tuple[Any, list[tuple[Any, ...]]]:
    """Room for the words of several seeds, and the rows of words in it, by library."""
    import numpy

    out = numpy.empty((_AT_ONCE, len(LIBRARIES), WORDS), numpy.uint64)
    return out, [tuple(row) for row in fill(numpy.zeros(_AT_ONCE, numpy.uint64), out)]


def _python_memory() -> Any:
    """The live memory of python's global generator, uint32 (625,): its position, then its words.

    None where it is not what CPython's `RandomObject` says (a Python other than CPython, another layout).
    """
    import numpy

    if sys.implementation.name != "cpython":
        return None
    at = id(random._inst) + object.__basicsize__
    held: Any = (ctypes.c_uint32 * (WORDS + 1)).from_address(at)
    memory = numpy.frombuffer(held, numpy.uint32)
    kept = random.getstate()[1]
    return memory if list(memory[1:]) == list(kept[:-1]) and memory[0] == kept[-1] else None


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
