"""Memory that torch and the C library hand out is zeros, as most of it is in a process that has just begun.

Two means, since neither reaches all: the C library clears what it hands out (glibc's M_PERTURB, mallopt(3)),
so that what C++ code allocates on the host is reached; and torch's functions that leave memory as it was
clear what they give, on every device. Memory that C++ code allocates on a device is not reached.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from samerun import cleared_memory
from samerun.sources.source import Undo
from samerun.wrapping import undo_all, wrap_attribute

_VARIABLE = "GLIBC_TUNABLES"
_NO_CACHE = "glibc.malloc.tcache_count=0"  # what a thread keeps for itself is handed out as it is
_FUNCTIONS = ("empty", "empty_like", "empty_strided", "empty_permuted")
_LARGE = 32 << 20  # bytes
_METHODS = ("new_empty", "new_empty_strided")


def build_environment() -> Mapping[str, str]:
    """What the C library must read when the process starts, beside what the user tells it."""
    own = [item for item in os.environ.get(_VARIABLE, "").split(":") if item and "tcache_count" not in item]
    return {_VARIABLE: ":".join([*own, _NO_CACHE])}


def zero() -> Undo:
    """From here on."""
    import torch

    undos = [cleared_memory.clear()]
    for owner, names in ((torch, _FUNCTIONS), (torch.Tensor, _METHODS)):
        for name in names:
            if hasattr(owner, name):
                undos.append(_clear_result(owner, name))
    return undo_all(undos)


def _discard(tensor: Any) -> bool:
    """Have the system take the memory of a large tensor back: it gives zeros, where they are read.

    A buffer that is filled bit by bit takes no more memory than without control, and no time. False where
    that is not done: on a device, in memory that others may have too, or that is small.
    """
    import torch

    if torch.compiler.is_compiling():
        return False
    if type(tensor) is not torch.Tensor or tensor.device.type != "cpu" or tensor.layout != torch.strided:
        return False
    memory = tensor.untyped_storage()
    if memory.nbytes() < _LARGE or memory.is_shared() or memory.filename is not None or tensor.is_pinned():
        return False
    begin, end = memory.data_ptr(), memory.data_ptr() + memory.nbytes()
    first, last = -(-begin // mmap.PAGESIZE) * mmap.PAGESIZE, end // mmap.PAGESIZE * mmap.PAGESIZE
    madvise = getattr(ctypes.CDLL(None), "madvise", None)
    if madvise is None or not sys.platform.startswith("linux"):  # elsewhere it may keep what is there
        return False
    if madvise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), mmap.MADV_DONTNEED) != 0:
        return False
    ctypes.memset(begin, 0, first - begin)
    ctypes.memset(last, 0, end - last)
    return True


def _clear_result(owner: Any, name: str) -> Undo:
    import torch

    def made(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = original(*args, **kwargs)
        if kwargs.get("out") is not None or not _discard(result):
            with torch.no_grad():
                result.zero_()
        return result

    return wrap_attribute(owner, name, made)
