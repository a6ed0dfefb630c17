"""The records of threads that do not train: each must be in both runs, whenever it comes.

A thread that saves a checkpoint, or evaluates a copy of the model, does so at another moment each time.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from samerun.comparing.alignment import Alignment, Divergence, TracePair
from samerun.runs.schema import BESIDE

if TYPE_CHECKING:
    from samerun.runs.reading import Bools, Ints, Trace

_Key = tuple[int, int]


def is_beside(trace: Trace) -> Bools:
    """bool[n]: which records such a thread wrote."""
    beside: Bools = (trace.flags & BESIDE) != 0
    return beside


def compare_beside(paired: TracePair, a: Ints, b: Ints) -> Alignment:
    """Align the records at positions a and b by what they are, their name and their digest."""
    import numpy as np

    waiting: dict[tuple[_Key, bytes], list[int]] = defaultdict(list)
    for at, key, digest in _list_keyed(paired, 1, b):
        waiting[key, digest].append(at)
    pairs: list[tuple[int, int]] = []
    alone: list[tuple[int, _Key]] = []
    for at, key, digest in _list_keyed(paired, 0, a):
        partners = waiting[key, digest]
        if partners:
            pairs.append((at, partners.pop(0)))
        else:
            alone.append((at, key))
    others = sorted((at, key) for (key, _), left in waiting.items() for at in left)
    divergence = None
    if alone:
        at, key = alone[0]
        partner = next((other for other, like in others if like == key), None)
        divergence = Divergence(at, partner, (at, 1))
    elif others:
        divergence = Divergence(None, others[0][0], (len(paired.a), 0))
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Alignment(both[:, 0], both[:, 1], divergence)


def _list_keyed(paired: TracePair, side: int, positions: Ints) -> list[tuple[int, _Key, bytes]]:
    digests, there = (paired.a, paired.b)[side].digests
    what, name = paired.codes("what")[side], paired.codes("name")[side]
    return [
        (at, (int(what[at]), int(name[at])), digests[at].tobytes() if there[at] else b"")
        for at in positions.tolist()
    ]
