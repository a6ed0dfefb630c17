"""A grouped split: all samples of a group go to one part, with the parts' sizes and classes kept close.

scikit-learn's splitters do not serve here: GroupShuffleSplit counts groups and not samples, and
StratifiedGroupKFold makes equal folds only, shuffles only groups that are alike, and gives other folds in
1.9.1 than in 1.6.1 for the same `random_state`.
"""

from __future__ import annotations

from math import fsum

import numpy as np
from numpy.typing import NDArray

from samerun.data.by_class import draw_random_keys
from samerun.streams import Stream


def assign_by_group(
    groups: NDArray[np.int64],
    number: int,
    classes: NDArray[np.int64] | None,
    sizes: NDArray[np.int64],
    stream: Stream,
) -> NDArray[np.int64]:
    """The part of each sample, int64 [n], from its group, int64 [n] in 0 … number - 1, and perhaps its class.

    Groups are placed by size, largest first, at random among sizes alike; each goes where it raises least
    the chi-square Σ (a - e)²/e of the table of parts by classes, where e is what the part should have of the
    class, and a what it has. "All samples" counts as one class more. The order of the samples has no effect.

    Bounds, with P parts of size > 0 and g the size of the largest group: without classes no part misses its
    size by more than (P - 1.5)·g, half a group for two parts. With classes the chi-square is at most
    (P - 1)·Σ v²/n_c over all groups and classes, where v of a group's samples are among the n_c of a class:
    what placing the groups at random has on average, and in practice far less.
    """
    totals = np.bincount(groups, minlength=number)
    table = _list_by_group(np.zeros_like(groups), groups, number)
    if classes is not None:
        for row, more in zip(table, _list_by_group(classes + 1, groups, number), strict=True):
            row += more
    # By powers of two: large groups first, or the last one could overshoot; yet large ones in any order, so
    # that the seed matters and no part has the large ones only.
    alike = np.frexp(totals.astype(np.float64))[1]
    order = np.lexsort((draw_random_keys(stream.child("groups"), number), -alike))
    have: dict[int, dict[int, int]] = {part: {} for part in np.flatnonzero(sizes).tolist()}
    of = sizes.tolist()
    placed = np.empty(number, dtype=np.int64)
    for group in order.tolist():
        row = table[group]
        # What is left of the chi-square's rise without all that is the same for every part. Exactly rounded:
        # `sum` adds floats in another way since Python 3.12.
        rises = {
            part: fsum(weight * (2 * there.get(column, 0) + count) for column, count, weight in row)
            / of[part]
            for part, there in have.items()
        }
        placed[group] = part = min(rises, key=rises.__getitem__)
        for column, count, _ in row:
            have[part][column] = have[part].get(column, 0) + count
    return placed[groups]


def _list_by_group(
    columns: NDArray[np.int64], groups: NDArray[np.int64], number: int
) -> list[list[tuple[int, int, float]]]:
    """For each group, by column: (column, the group's samples in it, their share of the column's samples)."""
    width = int(columns.max(initial=0)) + 1
    totals = np.bincount(columns, minlength=width).tolist()
    cells, counts = np.unique(groups * width + columns, return_counts=True)
    table: list[list[tuple[int, int, float]]] = [[] for _ in range(number)]
    for cell, count in zip(cells.tolist(), counts.tolist(), strict=True):
        group, column = divmod(cell, width)
        table[group].append((column, count, count / totals[column]))
    return table
