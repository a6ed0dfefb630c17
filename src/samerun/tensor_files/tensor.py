"""One tensor in a file: its outline, and its elements chunk by chunk."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from samerun.tensor_files.elements import SIZES, drop_flags, split_complex
from samerun.tensor_files.stored_bytes import Bytes

CHUNK = 1 << 20  # bytes
_MOST_DIMENSIONS = 64


@dataclass(frozen=True)
class Tensor:
    """`chunks` gives the elements in row-major order, little-endian: CHUNK bytes each, as whole elements."""

    dtype: str  # torch's name, or NumPy's where torch has none
    shape: tuple[int, ...]
    element: int  # bytes
    chunks: Callable[[], Iterator[bytes]] = field(repr=False)
    place: Any = None  # equal for tensors that share all their bytes, so that they are compared once
    in_pickle: bool = False  # an array of NumPy, whose elements lie in the pickle itself

    @property
    def count(self) -> int:
        """The number of its elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """The size of its elements together."""
        return self.count * self.element


def make_tensor(
    dtype: str,
    shape: tuple[int, ...],
    data: Bytes,
    *,
    offset: int = 0,
    strides: tuple[int, ...] | None = None,
    swapped: bool = False,
    element: int | None = None,
) -> Tensor:
    """A tensor in `data`: offset and strides in elements, row-major without strides; `swapped`: big-endian.

    Raises ValueError for one that does not fit into its bytes, and for a dtype of no known size.
    """
    size = element or SIZES.get(drop_flags(dtype))
    if not size or size > CHUNK:
        raise ValueError(f"a tensor of dtype {dtype[:80] or '(not known)'}, which is not compared")
    steps = _count_row_major(_check_shape(shape)) if strides is None else strides
    if len(steps) != len(shape) or any(type(each) is not int or each < 0 for each in (*steps, offset)):
        raise ValueError(f"a tensor with strides {steps} and shape {shape}")
    if 0 in shape:
        return Tensor(dtype, shape, size, lambda: iter(()))
    last = offset + sum((extent - 1) * step for extent, step in zip(shape, steps, strict=True))
    if (last + 1) * size > data.size:
        raise ValueError(f"a tensor of shape {list(shape)}, of which {data.size} bytes are there")
    place = (id(data), offset, steps, size, swapped)
    part = split_complex(dtype)[1]

    def read() -> Iterator[bytes]:
        chunks = (
            _read_in_order(data, offset * size, math.prod(shape) * size, size)
            if _is_row_major(shape, steps)
            else _read_strided(data, offset, last, shape, steps, size)
        )
        return (_swap(chunk, size // part) for chunk in chunks) if swapped else chunks

    return Tensor(dtype, shape, size, read, place)


def _check_shape(shape: tuple[Any, ...]) -> tuple[int, ...]:
    if len(shape) > _MOST_DIMENSIONS or any(type(extent) is not int or extent < 0 for extent in shape):
        raise ValueError(f"a tensor of shape {str(shape)[:80]}")
    return shape


def _count_row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[at + 1 :]) for at in range(len(shape)))


def _is_row_major(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    expected = _count_row_major(shape)
    return all(extent == 1 or a == b for extent, a, b in zip(shape, strides, expected, strict=True))


def list_pieces(total: int, element: int) -> Iterator[tuple[int, int]]:
    """(begin, end) in bytes of the chunks of a tensor."""
    step = max(CHUNK // element, 1) * element
    for begin in range(0, total, step):
        yield begin, min(begin + step, total)


def _read_in_order(data: Bytes, start: int, total: int, element: int) -> Iterator[bytes]:
    for begin, end in list_pieces(total, element):
        yield data.read_at(start + begin, end - begin)


def _read_strided(
    data: Bytes, offset: int, last: int, shape: tuple[int, ...], strides: tuple[int, ...], element: int
) -> Iterator[bytes]:
    import numpy as np

    span = np.frombuffer(data.read_at(offset * element, (last + 1 - offset) * element), f"V{element}")
    seen = np.lib.stride_tricks.as_strided(span, shape, [step * element for step in strides], writeable=False)
    for begin, end in list_pieces(math.prod(shape) * element, element):
        yield seen.flat[begin // element : end // element].tobytes()


def _swap(chunk: bytes, size: int) -> bytes:
    import numpy as np

    return chunk if size == 1 else np.frombuffer(chunk, f">u{size}").astype(f"<u{size}").tobytes()
