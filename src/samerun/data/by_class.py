"""A stratified split: every class is spread over the parts in proportion, to less than one sample.

scikit-learn's splitters do not serve here: StratifiedShuffleSplit makes two parts, and splitting the rest
once more adds a second rounding to the first (1.02 samples off in a trial of 300 with 1.9.1); it refuses a
class of one sample. Without classes there is one class.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from samerun.errors import UsageError
from samerun.streams import Stream

FEW_STARTS = 100  # up to here np.partition beats np.sort; far beyond, it takes seconds for 10**5 keys
MOST_SAMPLES = 3 * 10**9  # the square must fit 63 bits


def draw_random_keys(stream: Stream, count: int) -> NDArray[np.uint64]:
    """`count` random 64-bit keys, uint64 [count]; the first keys are the same for every count.

    They are only ever compared. numpy guarantees PCG64's integers to every release (in its docstring), but
    not what `Generator.permutation` makes of them (NEP 19).
    """
    keys: NDArray[np.uint64] = stream.numpy().bit_generator.random_raw(count)
    return keys


def assign_by_class(
    classes: NDArray[np.int64], number: int, sizes: NDArray[np.int64], stream: Stream
) -> NDArray[np.int64]:
    """The part of each sample, int64 [n], from its class, int64 [n] in 0 … number - 1.

    Part p has exactly sizes[p] samples, and of each class c either the floor or the ceiling of
    sizes[p]·n_c/n.
    """
    if len(classes) > MOST_SAMPLES:
        raise UsageError(f"{len(classes)} samples are too many to split exactly (at most {MOST_SAMPLES})")
    keys = draw_random_keys(stream.child("samples"), len(classes))
    if number <= 1:
        return cut(keys, sizes)
    order = np.argsort(draw_random_keys(stream.child("classes"), number), kind="stable")
    counts = np.empty((number, len(sizes)), dtype=np.int64)
    counts[order] = spread(np.bincount(classes, minlength=number)[order], sizes)
    # The class in the high bits, so that one cut serves all classes.
    bits = (number - 1).bit_length()
    keys >>= np.uint64(bits)
    keys |= classes.astype(np.uint64) << np.uint64(64 - bits)
    return cut(keys, counts.ravel()) % len(sizes)


def cut(keys: NDArray[np.uint64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The piece of each key, int64 [n]: 0 for the smallest sizes[0] keys, 1 for the next sizes[1], and so on.

    Equal keys are in the order of their positions.
    """
    starts = np.cumsum(sizes)[:-1]
    starts = starts[starts < len(keys)]  # pieces that start at the end are empty
    # The keys at the pieces' starts are all that is needed; a few are found without sorting the rest.
    ordered = np.partition(keys, starts) if 0 < len(starts) <= FEW_STARTS else np.sort(keys)
    firsts = ordered[starts]
    pieces = np.searchsorted(firsts, keys, side="right").astype(np.int64, copy=False)
    if not np.array_equal(np.bincount(pieces, minlength=len(sizes)), sizes):  # equal keys across a start
        pieces[np.argsort(keys, kind="stable")] = np.repeat(np.arange(len(sizes)), sizes)
    return pieces


def spread(classes: NDArray[np.int64], parts: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many samples of each class go to each part, int64 [C, P].

    `classes` (int64 [C]) and `parts` (int64 [P]) have the same sum n. Row c sums to classes[c], column p to
    parts[p], and each entry is the floor or the ceiling of classes[c]·parts[p]/n. Such a table exists (it is
    a flow with integer bounds that has a fractional solution). Among equals the first classes give way.
    """
    exact = classes[:, None] * parts
    total = max(int(parts.sum()), 1)
    floors, remainders = np.divmod(exact, total)
    missing = classes - floors.sum(axis=1)
    # Each class rounds up where its remainders are largest; ties start where the class before ended.
    starts = np.cumsum(missing) - missing
    turns = (np.arange(len(parts)) - starts[:, None]) % len(parts)
    ranks = np.argsort(np.argsort(turns - remainders * len(parts), axis=1, kind="stable"), axis=1)
    up = ranks < missing[:, None]
    may = remainders > 0
    surplus = floors.sum(axis=0) + up.sum(axis=0) - parts
    while surplus.any():
        # Moves of one sample of a class from a part that was rounded up to one that was not.
        moves = (up.T.astype(np.float64) @ (may & ~up).astype(np.float64)).astype(np.int64)
        path = _find_shortest(moves, surplus)
        steps = list(pairwise(path))
        amount = min(int(surplus[path[0]]), -int(surplus[path[-1]]), *(int(moves[step]) for step in steps))
        for start, end in steps:
            movable = np.flatnonzero(up[:, start] & ~up[:, end] & may[:, end])
            loss = remainders[movable, start] - remainders[movable, end]
            moved = movable[np.argsort(loss, kind="stable")[:amount]]
            up[moved, start], up[moved, end] = False, True
        surplus[path[0]] -= amount
        surplus[path[-1]] += amount
    table: NDArray[np.int64] = floors + up
    return table


def _find_shortest(moves: NDArray[np.int64], surplus: NDArray[np.int64]) -> list[int]:
    """The shortest path of possible moves from a part with too many samples to one with too few."""
    came_from = {int(part): -1 for part in np.flatnonzero(surplus > 0)}
    queue = deque(came_from)
    while surplus[part := queue.popleft()] >= 0:
        for following in np.flatnonzero(moves[part]).tolist():
            if following not in came_from:
                came_from[following] = part
                queue.append(following)
    path = [part]
    while came_from[path[-1]] >= 0:
        path.append(came_from[path[-1]])
    return path[::-1]
