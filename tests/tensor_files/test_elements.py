"""What bits mean, compared with torch for every bit pattern of 8 and 16 bits."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from samerun.tensor_files.elements import SIZES, decode, format_element, measure_ulps

SMALL = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]


@pytest.mark.parametrize("dtype", [*SMALL, "float16", "bfloat16"])
def test_every_value_is_that_of_torch(dtype: str) -> None:
    if not hasattr(torch, dtype):
        pytest.skip(f"torch {torch.__version__} has no {dtype}")
    size = SIZES[dtype]
    raw = np.arange(256**size, dtype=f"<u{size}").tobytes()
    expected = torch.frombuffer(bytearray(raw), dtype=getattr(torch, dtype)).double().numpy()
    found = decode(raw, dtype)
    assert found is not None
    with np.errstate(invalid="ignore"):  # NaN
        np.testing.assert_array_equal(found.astype(np.float64), expected)
    assert (np.signbit(found) == np.signbit(expected))[~np.isnan(expected)].all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_ulps_count_the_numbers_between_two(dtype: str) -> None:
    kind = np.dtype(dtype).type
    start = np.array([1, -1, 0, -0.0, 0, np.finfo(kind).smallest_subnormal, 1, np.nan, 1], kind)
    end = start.copy()
    for _ in range(3):
        end = np.nextafter(end, kind(math.inf))
    end[3], end[6], end[8] = 0, 1, np.inf
    found = measure_ulps(start.tobytes(), end.tobytes(), dtype)
    assert found is not None
    assert found.tolist() == [3, 3, 3, 0, 3, 3, 0]  # without those of NaN and infinity
    largest = np.array([np.finfo(kind).max], kind)
    found = measure_ulps(largest.tobytes(), (-largest).tobytes(), dtype)
    assert found is not None
    assert found[0] == 2 * int(largest.view(f"u{largest.itemsize}")[0])


def test_ulps_of_complex_numbers_are_those_of_their_parts() -> None:
    one = np.array([1 + 2j], np.complex64)
    other = np.array([np.nextafter(np.float32(1), np.float32(2)) + 2j], np.complex64)
    found = measure_ulps(one.tobytes(), other.tobytes(), "complex64")
    assert found is not None and found.tolist() == [1, 0]


def test_dtypes_without_ulps_have_none() -> None:
    for dtype in ("int64", "bool", "void8", "float8_e8m0fnu"):
        assert measure_ulps(bytes(8), bytes(8), dtype) is None


def test_texts_tell_values_apart() -> None:
    for one, other, dtype in [
        (np.float32(0.1), np.nextafter(np.float32(0.1), np.float32(1)), "float32"),
        (np.float64(0.1), np.nextafter(np.float64(0.1), 1.0), "float64"),
        (np.float32(0), np.float32(-0.0), "float32"),
        (np.uint32(0x7FC00000), np.uint32(0x7FC00001), "float32"),
        (np.int64(2**60), np.int64(2**60 + 1), "int64"),
        (np.complex64(1), np.complex64(1j), "complex64"),
        (np.uint8(1), np.uint8(2), "bool"),
        (np.uint16(1), np.uint16(2), "void16"),
    ]:
        assert format_element(one.tobytes(), dtype) != format_element(other.tobytes(), dtype)
    assert format_element(b"\1", "bool") == "True"
    assert format_element(np.float32(0.1).tobytes(), "float32") == "0.1"
    assert format_element(np.complex64(1 - 2j).tobytes(), "complex64") == "1.0 + -2.0i"
    assert format_element(b"\1\2", "void16") == "0x0201"
