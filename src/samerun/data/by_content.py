"""A content-keyed split: a sample's part follows from its id alone, so that new samples move no old one."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from samerun.data.labels import make_array
from samerun.errors import UsageError
from samerun.streams import Stream

BITS_64 = 2**64
INT64 = range(-(2**63), 2**63)


def assign_by_content(
    ids: Any, samples: int, fractions: Sequence[Fraction], stream: Stream
) -> NDArray[np.int64]:
    """The part of each sample, int64 [samples]: where the hash of its id falls between 0 and 2**64.

    The size of a part of fraction f is binomial: f·samples, give or take √(samples·f·(1-f)).
    """
    hashes = hash_ids(ids, samples, stream)
    ends = [math.floor(BITS_64 * end) for end in accumulate(fractions)][:-1]
    # An end of 2**64 comes before parts of fraction 0 only; no hash reaches it.
    reached = np.array([end for end in ends if end < BITS_64], dtype=np.uint64)
    return np.searchsorted(reached, hashes, side="right").astype(np.int64, copy=False)


def hash_ids(ids: Any, samples: int, stream: Stream) -> NDArray[np.uint64]:
    """64 bits for each id, uint64 [samples]; other bits under another stream.

    Ids are integers of any size, strings or bytes; 5, "5" and b"5" are three ids, and an integer of Python,
    numpy or torch is the same id. Raises UsageError for other types and for another number of ids.
    """
    array = make_array(ids)
    if array.ndim != 1 or len(array) != samples:
        seen = f"{len(array)} ids" if array.ndim == 1 else f"ids of shape {array.shape}"
        raise UsageError(f"`ids` has {seen} for {samples} samples; pass one id for each sample")
    first, second = stream.child("ids", 0).seed64, stream.child("ids", 1).seed64
    if array.dtype.kind == "i" or (array.dtype.kind == "u" and int(array.max(initial=0)) in INT64):
        words = array.astype(np.uint64)
    else:
        words = np.fromiter((_make_word(identity, first) for identity in array.tolist()), np.uint64, samples)
    return _mix_bits(_mix_bits(words ^ np.uint64(first)) ^ np.uint64(second))


def _make_word(identity: Any, key: int) -> int:
    """64 bits for one id, which `_mix_bits` then makes random: an integer of an int64 is its own word."""
    if isinstance(identity, str):
        return xxh3_64_intdigest(b"s" + identity.encode("utf-8", "surrogatepass"), key)
    if isinstance(identity, bytes):
        return xxh3_64_intdigest(b"b" + identity, key)
    if not isinstance(identity, bool):
        try:
            number = operator.index(identity)
        except TypeError:
            pass
        else:
            if number in INT64:
                return number % BITS_64
            return xxh3_64_intdigest(b"i%d" % number, key)
    raise UsageError(
        f"an id is an integer, a string or bytes, not {type(identity).__name__} ({identity!r}); "
        f"pass str(...) of it, if that is the same in every run"
    )


def _mix_bits(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A bijection of 64 bits in which each bit of the result depends on every bit: splitmix64's finalizer.

    Stafford's variant 13 of MurmurHash3's finalizer: https://prng.di.unimi.it/splitmix64.c.
    """
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = words ^ (words >> np.uint64(31))
    return mixed
