"""Independent random streams, derived by hashing a seed and a path of names.

Never by adding numbers: `seed + epoch` makes (42, 1) equal (43, 0).
"""

from __future__ import annotations

import hashlib
import operator
from typing import TYPE_CHECKING, SupportsIndex

from samerun.errors import UsageError

if TYPE_CHECKING:
    import random

    import numpy
    import torch

Name = str | SupportsIndex


def stream_seed(seed: int, *path: Name) -> int:
    """64 bits (0 ≤ n < 2**64) for a seed and a path of strings and integers of any size.

    The first 8 bytes, little-endian, of SHA-256 over an encoding in which each part carries its type and
    its length, so that distinct paths are distinct byte strings. Raises UsageError for other types.
    """
    encoded = b"".join(_encoded(part) for part in (seed, *path))
    return int.from_bytes(hashlib.sha256(encoded).digest()[:8], "little")


def _encoded(part: Name) -> bytes:
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


class Stream:
    """The stream of a seed and a path: makes generators for python, numpy and torch.

    Each call makes a new generator at the start of the stream. The three libraries' generators hold
    different numbers.
    """

    __slots__ = ("path", "seed")

    def __init__(self, seed: int, *path: Name) -> None:
        stream_seed(seed, *path)
        self.seed = seed
        self.path = path

    def child(self, *path: Name) -> Stream:
        """The stream further down the path."""
        return Stream(self.seed, *self.path, *path)

    @property
    def seed64(self) -> int:
        """The 64 bits that seed every generator of this stream."""
        return stream_seed(self.seed, *self.path)

    def python(self) -> random.Random:
        """A new `random.Random`."""
        import random

        return random.Random(self.seed64)

    def numpy(self) -> numpy.random.Generator:
        """A new numpy Generator (PCG64, named so that a change of numpy's default cannot move it)."""
        import numpy

        return numpy.random.Generator(numpy.random.PCG64(self.seed64))

    def torch(self, device: str | torch.device = "cpu") -> torch.Generator:
        """A new torch Generator on a device."""
        import torch

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
