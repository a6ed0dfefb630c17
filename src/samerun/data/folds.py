"""Reproducible k-fold cross-validation, on the same ground as `split`."""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Any

import numpy as np

from samerun.data.containers import take
from samerun.data.splits import part_of_each
from samerun.errors import UsageError
from samerun.streams import stream


def kfold(
    data: Any,
    k: int,
    *,
    seed: int,
    stratify: Any = None,
    groups: Any = None,
    ids: Any = None,
    name: str = "kfold",
) -> list[tuple[Any, Any]]:
    """k pairs (train, validation): `for train, validation in kfold(dataset, 5, seed=0): …`.

    Every sample is in the validation part of exactly one pair, and in the train part of the k - 1 others. The
    folds' sizes differ by at most 1, except with `groups` and `ids`. The arguments, what they promise and
    what the parts are: see `split`.

    Raises UsageError for k < 2, for a fold without a sample, and as `split` does.
    """
    try:
        folds = operator.index(k)
    except TypeError:
        raise UsageError(f"k is the number of folds, an integer, not {k!r}") from None
    if folds < 2:
        raise UsageError(f"k is {folds}, but cross-validation needs at least 2 folds")
    random = stream(seed, name)
    parts = part_of_each(
        data, [Fraction(1, folds)] * folds, random, stratify=stratify, groups=groups, ids=ids
    )
    empty = np.flatnonzero(np.bincount(parts, minlength=folds) == 0)
    if len(empty):
        few = "groups" if groups is not None else "ids" if ids is not None else "samples"
        raise UsageError(
            f"fold {empty[0]} of {folds} is empty: too few {few} (there are {len(parts)} samples); "
            f"pass a smaller k"
        )
    return [
        (take(data, np.flatnonzero(parts != fold)), take(data, np.flatnonzero(parts == fold)))
        for fold in range(folds)
    ]
