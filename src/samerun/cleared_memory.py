"""Memory that the C library hands out is zeros for a while: glibc's M_PERTURB, mallopt(3)."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_M_PERTURB = -6
_TO_ZERO = 0xFF  # glibc hands out bytes of the complement


@contextmanager
def clear_meanwhile() -> Iterator[None]:
    """Within it; nothing is done with a C library that cannot."""
    undo = clear()
    try:
        yield
    finally:
        undo()


def clear() -> Callable[[], None]:
    """From here on, in this process; returns what ends it."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "gnu_get_libc_version"):
        return lambda: None
    libc.mallopt(_M_PERTURB, _TO_ZERO)
    before = os.environ.get("MALLOC_PERTURB_", "0")
    return lambda: libc.mallopt(_M_PERTURB, int(before) if before.isdecimal() else 0)
