"""Reproducible splits: disjoint, exhaustive parts that are the same for the same seed, everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samerun.data.by_class import assign_by_class
from samerun.data.by_content import assign_by_content
from samerun.data.by_group import assign_by_group
from samerun.data.containers import count_samples, read_column, take
from samerun.data.labels import number_labels
from samerun.data.sizes import Share, compute_sizes, shares_of
from samerun.errors import UsageError
from samerun.streams import Stream, stream


def split(
    data: Any,
    fractions_or_counts: Sequence[float],
    *,
    seed: int,
    stratify: Any = None,
    groups: Any = None,
    ids: Any = None,
    name: str = "split",
) -> tuple[Any, ...]:
    """Split data into parts at random: `train, validation = split(dataset, [0.9, 0.1], seed=0)`.

    Every sample is in exactly one part, and each part keeps the samples in their order. The parts are a
    function of the number of samples and the arguments: the same for every version of Python, numpy and
    torch, on every machine.

    data: a number of samples (the parts are int64 index arrays), an array or tensor (rows of it), a list
        (lists), a map-style torch Dataset (`torch.utils.data.Subset`s), a pandas frame or Series (rows by
        position), or a Hugging Face Dataset (`select`).
    fractions_or_counts: one for each part. Counts (all integers) sum to the number of samples. Fractions sum
        to 1, to 1e-6; sizes are rounded by largest remainders, so a small part can be empty.
    seed: any integer. Another `name` gives another split for the same seed.
    stratify: a class for each sample (integers or strings; the name of a column for frames). Each part has
        of each class its exact proportion, class size × part size / samples, to less than 1 sample.
    groups: a group for each sample, likewise; a group is never in two parts, so sizes are approximate: see
        `samerun.data.by_group` for the bounds, also together with `stratify`.
    ids: an id for each sample (integers, strings, bytes), likewise. The part of a sample follows from a hash
        of (seed, name, id) alone: samples added, removed or reordered move no other sample. Fractions only,
        and sizes are approximate: give or take √(samples × fraction). Not with `stratify` or `groups`; for
        groups that stay where they are, pass the groups as `ids`.

    Raises UsageError for anything else.
    """
    shares = shares_of(fractions_or_counts)
    parts = part_of_each(data, shares, stream(seed, name), stratify=stratify, groups=groups, ids=ids)
    return tuple(take(data, np.flatnonzero(parts == part)) for part in range(len(shares)))


def part_of_each(
    data: Any, shares: Sequence[Share], random: Stream, *, stratify: Any, groups: Any, ids: Any
) -> NDArray[np.int64]:
    """The part of each sample, int64 [samples], from 0; the arguments are as in `split`."""
    samples = count_samples(data)
    stratify, groups, ids = (
        read_column(data, given, what) if isinstance(given, str) else given
        for what, given in (("stratify", stratify), ("groups", groups), ("ids", ids))
    )
    if ids is not None:
        fractions = [share for share in shares if isinstance(share, Fraction)]
        if not fractions:
            raise UsageError(
                f"a split by `ids` cannot keep the counts {list(shares)}; pass fractions such as [0.9, 0.1]"
            )
        if stratify is not None or groups is not None:
            other = "stratify" if stratify is not None else "groups"
            raise UsageError(
                f"a split by `ids` looks at nothing but the id, so `{other}` has no effect with it; drop one "
                f"of the two (for groups that never move, pass the groups as `ids`)"
            )
        return assign_by_content(ids, samples, fractions, random)
    sizes = np.array(compute_sizes(shares, samples), dtype=np.int64)
    classes, kinds = np.zeros(samples, dtype=np.int64), 1
    if stratify is not None:
        classes, kinds = number_labels(stratify, samples, "stratify")
    if groups is None:
        return assign_by_class(classes, kinds, sizes, random)
    names, number = number_labels(groups, samples, "groups")
    return assign_by_group(names, number, None if stratify is None else classes, sizes, random)
