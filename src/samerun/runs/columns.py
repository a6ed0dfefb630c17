"""Columns of a trace from Python and NumPy values, and back.

`pyarrow.array` and `pyarrow.scalar` import pandas, where it is installed, to see whether they were given
some of its values: a third of a second of the user's process, and of ours. Buffers do not ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

_MOST = 2**31 - 1  # bytes of a column of texts or byte strings, whose ends are 32-bit integers


def build_numbers(values: npt.NDArray[Any], there: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """The integers or floats [n], in the type that NumPy has them in; null where bool[n] `there` is false."""
    import pyarrow as pa

    buffers = [_pack_validity(there), pa.py_buffer(values)]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def build_optional(values: Sequence[float | None], dtype: npt.DTypeLike) -> pa.Array:
    """Numbers as NumPy's dtype, null for None."""
    import numpy as np

    there = np.fromiter((value is not None for value in values), bool, len(values))
    return build_numbers(np.array([0 if value is None else value for value in values], dtype), there)


def build_truths(values: npt.NDArray[np.bool_]) -> pa.Array:
    """bool[n]."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.bool_(), len(values), [None, _pack_bits(values)])


def build_texts(values: Iterable[str | None]) -> pa.Array:
    """Strings, null for None."""
    import pyarrow as pa

    return _build_variable([None if value is None else value.encode() for value in values], pa.string())


def build_bytes(values: Sequence[bytes | None]) -> pa.Array:
    """Byte strings of any length, null for None."""
    import pyarrow as pa

    return _build_variable(values, pa.binary())


def build_digests(values: Sequence[bytes | None]) -> pa.Array:
    """Byte strings of 16 bytes, null for None."""
    import numpy as np
    import pyarrow as pa

    there = np.fromiter((value is not None for value in values), bool, len(values))
    data = b"".join([bytes(16) if value is None else value for value in values])
    if len(data) != 16 * len(values):
        raise ValueError(f"{len(values)} digests of {len(data)} bytes together; a digest has 16 bytes")
    return pa.Array.from_buffers(pa.binary(16), len(values), [_pack_validity(there), pa.py_buffer(data)])


def read_numbers(column: pa.Array, missing: int) -> npt.NDArray[Any]:
    """The integers [n] of a column in its own type, `missing` where there is none."""
    import numpy as np

    data = column.buffers()[1]
    dtype = np.dtype(str(column.type))  # both say int32
    if data is None:  # no buffer at all: every one is null
        return np.full(len(column), missing, dtype)
    found: npt.NDArray[Any] = np.frombuffer(data, dtype)[column.offset : column.offset + len(column)].copy()
    found[~read_known(column)] = missing
    return found


def read_known(column: pa.Array) -> npt.NDArray[np.bool_]:
    """bool[n]: whether there is a value."""
    import numpy as np

    bits = column.buffers()[0]
    if bits is None:
        return np.full(len(column), column.null_count == 0)  # no bits: none is null, or no value has a buffer
    end = column.offset + len(column)
    return np.unpackbits(np.frombuffer(bits, np.uint8), count=end, bitorder="little")[column.offset :] > 0


def _build_variable(values: Sequence[bytes | None], kind: pa.DataType) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    data = b"".join([value for value in values if value is not None])
    if len(data) > _MOST:
        raise ValueError(f"{len(data)} bytes in one batch of a trace; a column holds at most {_MOST}")
    there = np.fromiter((value is not None for value in values), bool, len(values))
    ends = np.zeros(len(values) + 1, np.int32)
    np.cumsum([0 if value is None else len(value) for value in values], out=ends[1:])
    buffers = [_pack_validity(there), pa.py_buffer(ends), pa.py_buffer(data)]
    return pa.Array.from_buffers(kind, len(values), buffers)


def _pack_validity(there: npt.NDArray[np.bool_] | None) -> pa.Buffer | None:
    return None if there is None or there.all() else _pack_bits(there)


def _pack_bits(values: npt.NDArray[np.bool_]) -> pa.Buffer:
    import numpy as np
    import pyarrow as pa

    return pa.py_buffer(np.packbits(values, bitorder="little"))
