"""The content of numpy arrays and scalars as bytes, without the bytes that carry no value.

Padding between the fields of a structured dtype and inside a long double holds whatever was in memory: two
equal runs would differ by it.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def is_flat(array: np.ndarray[Any, Any]) -> bool:
    """Whether the array is a plain grid of values with bytes of their own."""
    dtype = array.dtype
    masked = isinstance(array, np.ma.MaskedArray)
    return not (masked or dtype.hasobject or dtype.names is not None or dtype.kind == "T")


def key_of(array: np.ndarray[Any, Any]) -> str:
    """Byte order, kind, size and shape, such as "<f4(2, 3)"; with the unit of dates."""
    return f"{array.dtype.str}{array.shape}"


def get_bytes(array: np.ndarray[Any, Any] | np.generic) -> Any:
    """The values of a flat array or of a scalar in logical order, as a buffer."""
    if isinstance(array, np.generic):
        return _get_scalar_bytes(array)
    flat = np.ascontiguousarray(np.asarray(array)).reshape(-1)
    if flat.dtype.char in "gG":
        return _drop_padding(flat)
    if not flat.dtype.itemsize:
        return b""
    return flat.view(np.uint8)


def list_items(array: np.ndarray[Any, Any]) -> list[Any]:
    """What an array that is not flat consists of, in an order that is always the same."""
    shape = str(array.shape)
    if isinstance(array, np.ma.MaskedArray):
        return [np.ma.getmaskarray(array), np.ma.getdata(array)]
    base = np.asarray(array)
    if base.dtype.names is not None:
        return [shape, *(x for name in base.dtype.names for x in (name, base[name]))]
    return [shape, base.dtype.str, *base.reshape(-1).tolist()]


def _get_scalar_bytes(scalar: np.generic) -> bytes:
    array = np.asarray(scalar)
    if not is_flat(array):
        from samerun.digest.values import digest_value

        return digest_value(array)
    return f"{key_of(array)} ".encode() + bytes(get_bytes(array))


def _drop_padding(flat: np.ndarray[Any, Any]) -> bytes:
    """The bytes of long doubles; the x87 format fills 10 of its 12 or 16."""
    parts = flat.view(np.longdouble)
    raw = parts.view(np.uint8).reshape(parts.size, parts.itemsize)
    used = 10 if np.finfo(np.longdouble).nmant == 63 else parts.itemsize
    return raw[:, :used].tobytes()
