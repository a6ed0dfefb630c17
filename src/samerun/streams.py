"""Independent random streams, derived by hashing a seed and a path of names.

Never by adding numbers: `seed + epoch` makes (42, 1) equal (43, 0).
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, SupportsIndex

import xxhash

from samerun.errors import UsageError
from samerun.mersenne import make_torch_generator
from samerun.torch_version import require_torch

if TYPE_CHECKING:
    import random

    import numpy
    import torch
    from numpy.random import RandomState

Name = str | SupportsIndex


def stream_seed(seed: int, *path: Name) -> int:
    """64 bits (0 ≤ n < 2**64) for a seed and a path of strings and integers of any size.

    The first 8 bytes, little-endian, of SHA-256 over an encoding in which each part carries its type and
    its length, so that distinct paths are distinct byte strings. Raises UsageError for other types.
    """
    return _take_first_bits(hashlib.sha256(b"".join(_encode(part) for part in (seed, *path))))


def _take_first_bits(hashed: hashlib._Hash) -> int:
    return int.from_bytes(hashed.digest()[:8], "little")


def _encode(part: Name) -> bytes:
    if isinstance(part, str):
        text = part.encode("utf-8", "surrogatepass")
        return b"s%d:%b" % (len(text), text)
    try:
        return b"i%d;" % operator.index(part)
    except TypeError:
        raise UsageError(
            f"a stream's seed and path are made of integers and strings, not {type(part).__name__} "
            f"({part!r}); pass an integer or a string"
        ) from None


def checked_seed(seed: SupportsIndex) -> int:
    """A seed that a person gave, as an integer: 0 ≤ seed < 2**64. Raises UsageError for anything else."""
    try:
        value = operator.index(seed)
    except TypeError:
        raise UsageError(f"a seed is an integer, not {seed!r}") from None
    if not 0 <= value < 2**64:
        raise UsageError(f"a seed is between 0 and 2**64 - 1, not {value}")
    return value


class Stream:
    """The stream of a seed and a path: makes generators for python, numpy and torch.

    Each call makes a new generator at the start of the stream. The three libraries' generators hold
    different numbers.
    """

    __slots__ = ("_hashed", "path", "seed")

    def __init__(self, seed: int, *path: Name) -> None:
        self.seed = seed
        self.path = path
        self._hashed = hashlib.sha256(b"".join(_encode(part) for part in (seed, *path)))

    def __reduce__(self) -> tuple[type[Stream], tuple[Name, ...]]:
        return Stream, (self.seed, *self.path)

    def child(self, *path: Name) -> Stream:
        """The stream further down the path."""
        return Stream(self.seed, *self.path, *path)

    @property
    def seed64(self) -> int:
        """The 64 bits that seed every generator of this stream."""
        return _take_first_bits(self._hashed)

    def child_seed(self, *path: Name) -> int:
        """The `seed64` of `child(*path)`; quicker, since this stream's own path is not hashed again."""
        hashed = self._hashed.copy()
        for part in path:
            hashed.update(b"i%d;" % part if type(part) is int else _encode(part))
        return int.from_bytes(hashed.digest()[:8], "little")

    def item_seeds(self, numbers: Iterable[int]) -> list[int]:
        """64 bits for each of many things that are numbered below this stream, quickly.

        For a number, 0 ≤ n < 2**64, it is the XXH3 of its 8 bytes, little-endian, seeded with `seed64`: a
        permutation of the numbers, so that no two of them share a seed. Raises OverflowError for others.
        """
        key, hashed = self.seed64, xxhash.xxh3_64_intdigest
        return [hashed(number.to_bytes(8, "little"), key) for number in numbers]

    def python(self) -> random.Random:
        """A new `random.Random`."""
        import _random
        import random

        made = random.Random.__new__(random.Random)
        _random.Random.seed(made, self.seed64)  # past who watches: it is no seed of the script's
        made.gauss_next = None  # type: ignore[attr-defined]
        return made

    def numpy(self) -> numpy.random.Generator:
        """A new numpy Generator (PCG64, named so that a change of numpy's default cannot move it)."""
        import numpy

        return numpy.random.Generator(numpy.random.PCG64(self.seed64))

    def random_state(self) -> RandomState:
        """A new legacy RandomState (MT19937), seeded with all 64 bits: for `random_state=` of scikit-learn.

        Each fit moves it on, as scikit-learn's own do; where every fit is to draw the same, pass a number of
        32 bits instead, `stream(...).seed64 % 2**32`.
        """
        from numpy.random import RandomState

        return RandomState([self.seed64 % 2**32, self.seed64 >> 32])

    def torch(self, device: str | torch.device = "cpu") -> torch.Generator:
        """A new torch Generator on a device, seeded with all 64 bits (see samerun.mersenne for the CPU's)."""
        require_torch("Stream.torch()")
        import torch

        if torch.device(device).type == "cpu":
            return make_torch_generator(self.seed64)
        return torch.Generator(device=device).manual_seed(self.seed64)

    def __repr__(self) -> str:
        return f"stream({', '.join(repr(part) for part in (self.seed, *self.path))})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return (self.seed, self.path) == (other.seed, other.path)

    def __hash__(self) -> int:
        return self.seed64


def stream(seed: int, *path: Name) -> Stream:
    """The stream of a seed and a path of names: `stream(seed, "data", epoch, index)`."""
    return Stream(seed, *path)
