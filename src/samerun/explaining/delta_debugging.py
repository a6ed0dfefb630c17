"""Delta debugging: the smallest set that still does it (Zeller and Hildebrandt 2002, algorithm ddmin)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

T = TypeVar("T")


def find_smallest(
    items: Sequence[T], does: Callable[[list[T]], bool], fail_alone: Collection[T] = ()
) -> list[T]:
    """A part of `items`, in their order, for which `does` holds and of which no item can be left out.

    `does` holds for all of them; it is asked once for each set, and never for one item that is known to
    fail alone. Give the best first: of two parts that both do, the one with the earlier items is kept.
    """
    known: dict[frozenset[int], bool] = {
        frozenset([at]): False for at, item in enumerate(items) if item in fail_alone
    }

    def asked(part: list[int]) -> bool:
        key = frozenset(part)
        if key not in known:
            known[key] = does([items[at] for at in part])
        return known[key]

    left, pieces = list(range(len(items))), 2
    while len(left) > 1:
        size = -(-len(left) // pieces)
        parts = [left[start : start + size] for start in range(0, len(left), size)]
        rests = [[at for at in left if at not in part] for part in reversed(parts)]
        if (part := next((part for part in parts if asked(part)), None)) is not None:
            left, pieces = part, 2
        elif len(parts) > 2 and (rest := next((rest for rest in rests if asked(rest)), None)) is not None:
            left, pieces = rest, max(pieces - 1, 2)
        elif pieces < len(left):
            pieces = min(2 * pieces, len(left))
        else:
            break
    return [items[at] for at in left]
