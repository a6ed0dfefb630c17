"""The C library hands out zeros meanwhile, and what it likes before and after."""

from __future__ import annotations

import ctypes
import platform

import pytest

from samerun.cleared_memory import clear_meanwhile

SIZE = 3000  # bytes: more than what a thread keeps for itself

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]


def look() -> bytes:
    """What new memory holds, after other memory of that size was filled and given back."""
    address = libc.malloc(SIZE)
    ctypes.memset(address, 7, SIZE)
    libc.free(address)
    address = libc.malloc(SIZE)
    held = ctypes.string_at(address, SIZE)
    libc.free(address)
    return held


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="others cannot")
def test_what_is_handed_out_is_zeros() -> None:
    before = look()
    with clear_meanwhile():
        assert look() == bytes(SIZE)
        with clear_meanwhile():
            pass
        assert look() == bytes(SIZE)  # the inner one ends nothing
    assert before.count(7) > SIZE / 2
    assert look().count(7) > SIZE / 2
