from __future__ import annotations

import numpy as np
import pytest

from samerun.digest import digest_value

DTYPES = [
    "?",
    "i1",
    "u2",
    "i4",
    "u8",
    "f2",
    "f4",
    "f8",
    "c8",
    "c16",
    "M8[s]",
    "m8[ns]",
    "U3",
    "S3",
    "V4",
    "g",
    "G",
]


def array(dtype: str, n: int = 12) -> np.ndarray:
    numbers = np.arange(n) % 2 if dtype == "?" else np.arange(n)
    return numbers.astype("u4").view(dtype) if dtype == "V4" else numbers.astype(dtype)[:12]


@pytest.mark.parametrize("dtype", DTYPES)
def test_content_shape_and_strides(dtype):
    a = array(dtype)
    assert digest_value(a) == digest_value(a.copy())
    grid = a[:12].reshape(3, -1)
    assert digest_value(grid.T) == digest_value(np.ascontiguousarray(grid.T))
    assert len({digest_value(x) for x in (grid, grid.T, a, a[:0], a[::-1])}) == 5
    assert digest_value(a[1]) == digest_value(a.copy()[1])
    assert digest_value(a[0]) != digest_value(a[1])


def test_dtype_and_byte_order_count():
    zeros = [np.zeros(3, dtype) for dtype in [*DTYPES, ">f4", ">i4", "M8[ms]", "U4"]]
    assert len({digest_value(z) for z in zeros}) == len(zeros)


def test_signed_zero_and_nan_payload_count():
    values = [
        np.array([0.0]),
        np.array([-0.0]),
        np.array([np.nan]),
        np.array([0x7FF8000000000001]).view("f8"),
    ]
    assert len({digest_value(v) for v in values}) == 4
    assert digest_value(np.float64(0.0)) != digest_value(np.float64(-0.0))


def test_padding_between_fields_does_not_count():
    dtype = np.dtype([("a", "i1"), ("b", "i8")], align=True)
    one, other = (np.frombuffer(bytearray([fill] * 64), dtype) for fill in (0, 255))
    for a in (one, other):
        a["a"], a["b"] = [1, 2, 3, 4], [5, 6, 7, 8]
    assert one.tobytes() != other.tobytes()
    assert digest_value(one) == digest_value(other)
    assert digest_value(one[0]) == digest_value(other[0])
    other["b"][2] = 9
    assert digest_value(one) != digest_value(other)


def test_padding_inside_a_long_double_does_not_count():
    a = np.arange(4, dtype="g")
    b = a.copy()
    raw = b.view(np.uint8).reshape(4, -1)
    if np.finfo("g").nmant == 63:
        raw[:, 10:] = 255
    assert digest_value(a) == digest_value(b)
    raw[2, 0] ^= 1
    assert digest_value(a) != digest_value(b)


def test_objects_in_an_array_by_content():
    a, b, c = (np.array([1, "x", [y]], dtype=object) for y in (2, 2, 3))
    assert digest_value(a) == digest_value(b)
    assert digest_value(a) != digest_value(c)
    assert digest_value(a.reshape(3, 1)) != digest_value(a)


def test_masks_count():
    data = np.arange(4.0)
    masked = [np.ma.masked_array(data, mask) for mask in (False, [1, 0, 0, 0], [0, 1, 0, 0])]
    assert len({digest_value(x) for x in [*masked, data]}) == 4


def test_variable_length_strings_by_content():
    if not hasattr(np.dtypes, "StringDType"):  # since numpy 2
        return
    long = "a string too long to lie in the array itself"
    a, b, c = (np.array([long, x], dtype=np.dtypes.StringDType()) for x in ("b", "b", "c"))
    assert digest_value(a) == digest_value(b)
    assert digest_value(a) != digest_value(c)


def test_empty_items():
    assert digest_value(np.zeros(3, "V0")) != digest_value(np.zeros(4, "V0"))
