"""A random order of n things whose value no release of numpy can change."""

from __future__ import annotations

from typing import Any

import numpy

from samerun.streams import Stream


def permutation(n: int, stream: Stream) -> Any:
    """A uniform permutation of 0 … n-1: int64 (n,).

    The order of n 64-bit keys, drawn raw from PCG64: numpy's own `permutation` may change between releases
    (NEP 19), the raw output of a bit generator may not.
    """
    keys = numpy.random.PCG64(stream.seed64).random_raw(n)
    return numpy.argsort(keys, kind="stable")
