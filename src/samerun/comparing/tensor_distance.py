"""How far two tensors of one dtype and shape are apart, read chunk by chunk."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from samerun.tensor_files.elements import decode, drop_flags, format_element, measure_ulps


@dataclass(frozen=True)
class TensorDistance:
    """Of two tensors whose bits differ."""

    first: tuple[int, ...] | None = None  # index of the first element that differs, in row-major order
    first_a: str | None = None  # that element
    first_b: str | None = None
    differing: int | None = None  # elements
    elements: int | None = None
    ulps: int | None = None  # the largest, of floats; None where no pair of finite ones differs
    relative: float | None = None  # the length of the difference in relation to that of A

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "first": None if self.first is None else list(self.first),
            "first_a": self.first_a,
            "first_b": self.first_b,
            "differing": self.differing,
            "elements": self.elements,
            "ulps": self.ulps,
            "relative": self.relative,
        }


Chunks = Callable[[], Iterator[bytes]]


def measure_distance(
    a: Chunks, b: Chunks, dtype: str, shape: tuple[int, ...], element: int
) -> TensorDistance | None:
    """None where all bits are equal. Both give the same elements, of so many bytes, in the same chunks.

    Raises what reading raises.
    """
    if all(one == other for one, other in zip(a(), b(), strict=True)):
        return None
    sums = _Sums(dtype, element)
    for one, other in zip(a(), b(), strict=True):
        sums.add(one, other)
    return TensorDistance(
        _unravel(sums.first, shape),
        format_element(sums.first_bits[0], dtype),
        format_element(sums.first_bits[1], dtype),
        sums.differing,
        math.prod(shape),
        sums.ulps,
        sums.compute_relative(),
    )


class _Sums:
    """What is known after some of the chunks."""

    def __init__(self, dtype: str, element: int) -> None:
        self.first = -1
        self.first_bits = (b"", b"")
        self.differing = 0
        self.ulps: int | None = None
        self._dtype, self._element = dtype, element
        self._seen = 0
        self._apart = self._size = 0.0  # sums of squares

    def add(self, one: bytes, other: bytes) -> None:
        import numpy as np

        word = math.gcd(self._element, 8)
        bits = [np.frombuffer(raw, f"u{word}").reshape(-1, self._element // word) for raw in (one, other)]
        if one != other:
            words = bits[0] != bits[1]
            where = np.flatnonzero(words.any(axis=1) if words.shape[1] > 1 else words)  # one is faster so
            unequal = (bits[0][where].tobytes(), bits[1][where].tobytes())
            if self.first < 0:
                self.first = self._seen + int(where[0])
                self.first_bits = (unequal[0][: self._element], unequal[1][: self._element])
            self.differing += len(where)
            ulps = measure_ulps(*unequal, self._dtype)
            if ulps is not None and len(ulps):
                self.ulps = max(self.ulps or 0, int(ulps.max()))
        self._seen += len(bits[0])
        numbers = decode(one, self._dtype), decode(other, self._dtype)
        if numbers[0] is not None and numbers[1] is not None:
            with np.errstate(all="ignore"):  # infinities and NaN make it none
                a = numbers[0].astype(np.float64)
                self._size += float(a @ a)
                if one != other:
                    a -= numbers[1]
                    self._apart += float(a @ a)

    def compute_relative(self) -> float | None:
        """None for dtypes without numbers, and where A is zero or one of them is not finite."""
        if drop_flags(self._dtype) == "bool" or not self._size or not math.isfinite(self._apart + self._size):
            return None
        return math.sqrt(self._apart / self._size)


def _unravel(at: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    index = []
    for extent in reversed(shape):
        at, here = divmod(at, extent)
        index.append(here)
    return tuple(reversed(index))
