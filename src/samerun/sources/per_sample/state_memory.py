"""Where the three global generators keep their states, to be read and written in place.

Their own `setstate` costs more than a sample may. Each place is looked for once in a process, by numpy's
public `state_address`, by the layout of CPython's `RandomObject`, or by a search for a state that was set; it
is taken when what lies there is what the generator itself says. Where it is not found (another interpreter,
another release), the state goes through `setstate`: slower, the same numbers.
"""

from __future__ import annotations

import ctypes
import functools
import random
import struct
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from samerun.mersenne import WORDS, make_torch_state

if TYPE_CHECKING:
    import torch

_BYTES = 4 * WORDS
_IN_PLACE = sys.implementation.name == "cpython"  # where id() is an address

# Bytes of each: what lies around the words belongs to the state.
PYTHON = 4 + _BYTES  # its position, the words
NUMPY = _BYTES + 4  # the words, its position
NORMAL = 16  # numpy's second of a pair of normals
TORCH = 20 + _BYTES + 28  # seed, left, seeded, next; the words; the normals that it keeps


class Memory:
    """The live memory of a generator: who writes into `live` has set its state."""

    written: Callable[[], None] | None = None  # nothing is left to do then

    def __init__(self, owner: Any, address: int, size: int) -> None:
        self._owner = owner  # lives as long as it may be written to
        held: Any = (ctypes.c_char * size).from_address(address)
        self.live: Any = memoryview(held).cast("B")
        self.read: Callable[[], Any] = self.live.tobytes

    def restore(self, kept: Any) -> None:
        """Put back what `read` gave."""
        self.live[:] = kept


class Through:
    """Stands in for a memory that was not found: what was written into `live` is set by `written`."""

    def __init__(
        self,
        size: int,
        write: Callable[[memoryview], None],
        read: Callable[[], Any],
        restore: Callable[[Any], None],
    ) -> None:
        self.live: Any = memoryview(bytearray(size))
        self._write = write
        self.read = read
        self.restore = restore

    def written(self) -> None:
        """Set the state that was written into `live`."""
        self._write(self.live)


Place = Memory | Through


def find_python() -> Place:
    """`random`'s global generator; the second of a pair of normals is an attribute of it."""
    if _IN_PLACE:
        address = id(random._inst) + object.__basicsize__
        position, *words = struct.unpack(f"{1 + WORDS}I", ctypes.string_at(address, 4 + _BYTES))
        if (*words, position) == random.getstate()[1]:
            return Memory(random._inst, address, PYTHON)
    return write_through_python()


def write_through_python() -> Through:
    """By `random.setstate`."""

    def write(row: Any) -> None:
        position, *words = row.cast("I")
        random.setstate((3, (*words, position), None))

    return Through(PYTHON, write, random.getstate, random.setstate)


def find_numpy(state: Any) -> tuple[Place, Place]:
    """A RandomState, numpy's legacy generator; the second of a pair of normals is apart."""
    bits = state._bit_generator
    if _IN_PLACE and type(bits).__name__ == "MT19937":  # else somebody's np.random.set_bit_generator
        address = bits.ctypes.state_address
        *words, position = struct.unpack(f"{WORDS + 1}I", ctypes.string_at(address, _BYTES + 4))
        kept = state.get_state()
        normal_at = _find_numpy_normal(state)
        if normal_at is not None and words == kept[1].tolist() and position == kept[2]:
            return Memory(bits, address, NUMPY), Memory(state, id(state) + normal_at, NORMAL)
    return write_through_numpy(state)


def _find_numpy_normal(state: Any) -> int | None:
    """Where in the object `int has_gauss; double gauss` lie, known by what is set there."""
    size = type(state).__basicsize__
    kept = state.get_state()
    seen = []
    try:
        for has, value in ((1, 1.2345678901234567), (0, 0.0)):
            state.set_state((*kept[:3], has, value))
            seen.append(ctypes.string_at(id(state), size))
    finally:
        state.set_state(kept)
    at = seen[0].find(struct.pack("d", 1.2345678901234567)) - 8
    if at < 0 or [struct.unpack_from("i4xd", each, at) for each in seen] != [(1, 1.2345678901234567), (0, 0)]:
        return None
    return at


def write_through_numpy(state: Any) -> tuple[Through, Through]:
    """By the `set_state` of a RandomState, which says what it thinks of our words for another generator."""

    def write(row: Any) -> None:
        *words, position = row.cast("I")
        state.set_state(("MT19937", words, position, 0, 0.0))

    def nothing(*_: Any) -> None:
        pass

    everything = Through(NUMPY, write, functools.partial(state.get_state, legacy=False), state.set_state)
    return everything, Through(NORMAL, nothing, nothing, nothing)


def find_torch(generator: torch.Generator) -> Place:
    """A CPU generator of torch, with the normals that it keeps, a float and a double."""
    at = _find_torch_engine()
    if at is not None:
        address = generator._cdata + at  # type: ignore[attr-defined]
        if _read_engine(address) == _read_state(generator):
            return Memory(generator, address, TORCH)
    return write_through_torch(generator)


@functools.cache
def _find_torch_engine() -> int | None:
    """Where in torch's generators the engine lies, known by what is set in one made for that."""
    import torch

    probe = torch.Generator()
    address = getattr(probe, "_cdata", None)
    if not _IN_PLACE or not isinstance(address, int):
        return None
    state = make_torch_state(0x1122334455667788, range(1, WORDS + 1))
    raw: Any = state.numpy()
    probe.set_state(state)
    at = ctypes.string_at(address, 256).find(raw[:8].tobytes())  # the words alone make it larger than that
    if at < 0 or _read_engine(address + at) != _read_state(probe):
        return None
    for has in (1, 0):
        struct.pack_into("d8xi4xfB", raw, 5024, 2.5, has, 4.5, has)
        probe.set_state(state)
        *normals, has_float, has_double = _read_normals(address + at)
        if (has_float, has_double) != (has, has) or (has and normals != [4.5, 2.5]):
            return None
    return at


def _read_engine(address: int) -> tuple[Any, ...]:
    """Seed, left, seeded, next and the words that lie there."""
    return struct.unpack(f"=QiB3x{1 + WORDS}I", ctypes.string_at(address, 20 + _BYTES))


def _read_normals(address: int) -> tuple[Any, ...]:
    value, has, double, has_double = struct.unpack("=fB3xdB", ctypes.string_at(address + 24 + _BYTES, 17))
    return value, double, has, has_double


def _read_state(generator: torch.Generator) -> tuple[Any, ...]:
    """The same by the generator's own account."""
    state: Any = generator.get_state().numpy()
    return struct.unpack_from(f"=Qii{1 + WORDS}Q", state)


def write_through_torch(generator: torch.Generator) -> Through:
    """By the `set_state` of a generator."""

    def write(row: Any) -> None:
        (seed,) = struct.unpack_from("=Q", row)
        generator.set_state(make_torch_state(seed, row[20 : 20 + _BYTES].cast("I")))

    restore: Any = generator.set_state
    return Through(TORCH, write, generator.get_state, restore)
