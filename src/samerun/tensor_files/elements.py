"""What the bits of one element mean, by dtype: its size, its value, and how many ulps lie between two."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Dtypes that NumPy has, by torch's names.
_PLAIN = {
    "bool": "u1",
    "uint8": "u1",
    "int8": "i1",
    "uint16": "u2",
    "int16": "i2",
    "uint32": "u4",
    "int32": "i4",
    "uint64": "u8",
    "int64": "i8",
    "float16": "f2",
    "float32": "f4",
    "float64": "f8",
    "qint8": "i1",
    "quint8": "u1",
    "qint32": "i4",
}
# Dtypes of 8 bits: bits of the exponent and of the mantissa, the bias, and how infinity and NaN are written.
_SMALL = {
    "float8_e4m3fn": (4, 3, 7, "fn"),
    "float8_e4m3fnuz": (4, 3, 8, "fnuz"),
    "float8_e5m2": (5, 2, 15, "ieee"),
    "float8_e5m2fnuz": (5, 2, 16, "fnuz"),
}
_COMPLEX = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
SIZES = {
    **{name: int(code[1]) for name, code in _PLAIN.items()},
    **dict.fromkeys(_SMALL, 1),
    "float8_e8m0fnu": 1,
    "bfloat16": 2,
    "complex32": 4,
    "complex64": 8,
    "complex128": 16,
}  # bytes of one element, of every dtype whose values are known


def drop_flags(dtype: str) -> str:
    """The dtype without a flag such as conj."""
    return dtype.partition(" ")[0]


def split_complex(dtype: str) -> tuple[str, int]:
    """The dtype of the numbers that an element is made of, and how many these are: 2 for complex ones."""
    plain = drop_flags(dtype)
    return (_COMPLEX[plain], 2) if plain in _COMPLEX else (plain, 1)


def decode(raw: bytes, dtype: str) -> NDArray[Any] | None:
    """The numbers in little-endian bytes, real and imaginary parts in turn; None for an unknown dtype.

    In the dtype of NumPy that has them all: float64 for floats of 8 bits, float32 for bfloat16.
    """
    import numpy as np

    part, _ = split_complex(dtype)
    if part in _PLAIN:
        return np.frombuffer(raw, "<" + _PLAIN[part])
    if part == "bfloat16":
        return (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32)
    if part in _SMALL or part == "float8_e8m0fnu":
        table = _list_values(part)
        values: NDArray[Any] = table[np.frombuffer(raw, np.uint8)]
        return values
    return None


def format_element(raw: bytes, dtype: str) -> str:
    """One element as a text that tells any two values of its dtype apart."""
    numbers = decode(raw, dtype)
    if numbers is None:
        return f"0x{raw[::-1].hex()}"
    part, count = split_complex(dtype)
    if part == "bool" and raw in (b"\0", b"\1"):
        return str(raw == b"\1")
    shown = [str(number.item() if part in _WIDE else number) for number in numbers]
    if "nan" in shown:
        shown[0] += f" (0x{raw[::-1].hex()})"  # there are many
    return shown[0] if count == 1 else f"{shown[0]} + {shown[1]}i"


_WIDE = frozenset({"float64", *_SMALL, "float8_e8m0fnu"})  # their shortest text is that of a float64


def measure_ulps(one: bytes, other: bytes, dtype: str) -> NDArray[np.uint64] | None:
    """Units in the last place between the floats of two texts of bytes; 0.0 and -0.0 have none between them.

    Pairs with an infinity or NaN are left out. None for dtypes that are no floats of a known form.
    """
    import numpy as np

    part, _ = split_complex(dtype)
    size = SIZES.get(part, 0)
    if "float" not in part or part == "float8_e8m0fnu" or part.endswith("fnuz") or not size:
        return None
    bits = [np.frombuffer(raw, f"<u{size}").astype(np.uint64) for raw in (one, other)]
    numbers = [decode(raw, part) for raw in (one, other)]
    assert numbers[0] is not None and numbers[1] is not None
    finite = np.isfinite(numbers[0]) & np.isfinite(numbers[1])
    sign = np.uint64(1 << (8 * size - 1))
    a, b = (each[finite] for each in bits)
    sizes = [each & ~sign for each in (a, b)]
    # Without its sign, the bits of a float are an integer in the order of the numbers.
    apart = np.maximum(*sizes) - np.minimum(*sizes)
    ulps: NDArray[np.uint64] = np.where((a & sign) == (b & sign), apart, sizes[0] + sizes[1])
    return ulps


def _list_values(dtype: str) -> NDArray[np.float64]:
    import numpy as np

    return np.array([_SMALL_VALUE[dtype](bits) for bits in range(256)], np.float64)


def _read_small(dtype: str) -> Callable[[int], float]:
    """https://onnx.ai/onnx/technical/float8.html"""
    exponent_bits, mantissa_bits, bias, form = _SMALL[dtype]

    def value(bits: int) -> float:
        sign = -1.0 if bits & 0x80 else 1.0
        exponent, mantissa = (bits & 0x7F) >> mantissa_bits, bits & ((1 << mantissa_bits) - 1)
        if form == "fnuz" and bits == 0x80:
            return float("nan")
        if form == "fn" and bits & 0x7F == 0x7F:
            return float("nan")
        if form == "ieee" and exponent == (1 << exponent_bits) - 1:
            return float("nan") if mantissa else sign * float("inf")
        if exponent == 0:
            return float(sign * mantissa * 2.0 ** (1 - bias - mantissa_bits))
        return float(sign * (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias))

    return value


_SMALL_VALUE: dict[str, Callable[[int], float]] = {
    **{name: _read_small(name) for name in _SMALL},
    "float8_e8m0fnu": lambda bits: float("nan") if bits == 0xFF else 2.0 ** (bits - 127),
}
