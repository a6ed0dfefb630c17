"""A random order of n things whose value no release of numpy can change."""

from __future__ import annotations

from typing import Any

import numpy
import psutil

from samerun.errors import UsageError
from samerun.streams import Stream

_BYTES = 16  # for each: its key and its place
_ALWAYS = 10**7


def permutation(n: int, stream: Stream) -> Any:
    """A uniform permutation of 0 … n-1: int64 (n,).

    The order of n 64-bit keys, drawn raw from PCG64: numpy's own `permutation` may change between releases
    (NEP 19), the raw output of a bit generator may not. Raises UsageError when this machine has not the
    memory: 16 bytes for each.
    """
    if n > _ALWAYS and _BYTES * n > psutil.virtual_memory().total:
        raise UsageError(
            f"an order of {n} samples takes {_BYTES * n / 2**30:.0f} GiB, more memory than there is; leave "
            "out shuffle=True, use an iterable dataset, or a sampler that draws with replacement"
        )
    keys = numpy.random.PCG64(stream.seed64).random_raw(n)
    return numpy.argsort(keys, kind="stable")
