"""Memory that the C library hands out is zeros for a while: glibc's M_PERTURB, mallopt(3)."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_M_PERTURB = -6
_TO_ZERO = 0xFF  # glibc hands out bytes of the complement
_lock = threading.Lock()
_asked = 0  # by how many it is asked for now, in all threads


@contextmanager
def clear_meanwhile() -> Iterator[None]:
    """Within it; nothing is done with a C library that cannot."""
    undo = clear()
    try:
        yield
    finally:
        undo()


def clear() -> Callable[[], None]:
    """From here on, in this process; returns what ends it, once the last one who asked for it does."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "gnu_get_libc_version"):
        return lambda: None

    def ask(more: int) -> None:
        global _asked
        with _lock:
            before = os.environ.get("MALLOC_PERTURB_", "0")
            _asked += more
            libc.mallopt(_M_PERTURB, _TO_ZERO if _asked else int(before) if before.isdecimal() else 0)

    ask(1)
    return lambda: ask(-1)
