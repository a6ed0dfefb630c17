"""How often each sample was handed out in a pass, counted where indices are handed out: in the main process.

A sampler may hand an index out again (with replacement, repeated augmentation), and one that never ends
makes all passes in one: each time the sample is another one, as its random numbers would be without us. The
count is exact under any number of workers and any prefetching, since there is one who hands out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from samerun.sources.per_sample.keying import HandedIndices, index_names
from samerun.sources.per_sample.pass_streams import PassStreams
from samerun.streams import Name

_MOST_COUNTED = 1 << 28  # entries of an array, 4 bytes each, of which only those in use take memory


class Pass:
    """One pass over a dataset: its streams, and what it handed out so far."""

    def __init__(
        self, above: Callable[[int], PassStreams], dataset: Any, *, batched: bool, once: bool
    ) -> None:
        """`above` is asked when the first indices are handed out: a sampler may be told its epoch till then.

        It is given a hash of these indices. `once` says that no index is handed out twice, so that nothing
        need be counted.
        """
        self._find = above
        self._above: PassStreams | None = None
        self._batched = batched
        self._once = once
        self._dataset = dataset
        self._array: Any = None  # how often, by index; None: not made yet, False: not to be had
        self._others: dict[tuple[Name, ...], int] = {}
        self._position = 0  # of the next index, for those that have no name

    def hand_out(self, indices: Any) -> Any:
        """The indices on their way to whoever makes the samples; as they are when they are no batch."""
        if self._batched and not hasattr(indices, "__len__"):
            if not hasattr(indices, "__iter__"):
                return indices  # the fetcher says what is wrong with it
            indices = list(indices)
        again, names = self.count(indices)
        if self._above is None:
            each = list(indices) if self._batched else [indices]
            self._above = self._find(hash(tuple(each if names is None else names)))
        return HandedIndices(indices, self._above, again, names)

    def count(self, indices: Any) -> tuple[list[int] | None, list[tuple[Name, ...]] | None]:
        """Count them: how often each was handed out before (None: never), and names if not integers."""
        each = list(indices) if self._batched else [indices]
        if set(map(type, each)) == {int}:
            if self._once:
                return None, None
            counted = self._in_array(each)
            if counted is None:
                counted = [self._by_name((index,)) for index in each]
            return (counted if any(counted) else None), None
        names = [self._name(index) for index in each]
        again = [self._by_name(name) for name in names]
        return (again if any(again) else None), names

    def _in_array(self, indices: list[int]) -> list[int] | None:
        """By an array, where the dataset says how long it is; None for others."""
        counts = self._array
        if counts is None:
            counts = self._array = _make_counts(self._dataset)
        if counts is False or min(indices) < 0 or max(indices) >= len(counts):
            return None
        if len(set(indices)) == len(indices):
            before = counts[indices]
            counts[indices] = before + 1
            return before.tolist()  # type: ignore[no-any-return]
        again = []
        for index in indices:
            again.append(int(counts[index]))
            counts[index] += 1
        return again

    def _by_name(self, name: tuple[Name, ...]) -> int:
        before = self._others.get(name, 0)
        self._others[name] = before + 1
        return before

    def _name(self, index: Any) -> tuple[Name, ...]:
        """By its value; an object that shows nothing but its address, by its place in the pass."""
        names = index_names(index)
        if any(isinstance(name, str) and " at 0x" in name for name in names) and not isinstance(index, str):
            names = (type(index).__name__, "at", self._position)
        self._position += 1
        return names


def is_handed_out_once(sampler: Any) -> bool:
    """Whether a sampler surely hands out no index twice in a pass, so that nothing need be counted."""
    from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler

    while type(sampler) is BatchSampler:
        sampler = sampler.sampler
    if type(sampler) is RandomSampler:
        return not sampler.replacement and sampler._num_samples is None
    return type(sampler) is SequentialSampler


def _make_counts(dataset: Any) -> Any:
    import numpy

    try:
        size = len(dataset)
    except Exception:  # whatever the user's own says: it is asked for nothing but our counting
        return False
    return numpy.zeros(size, numpy.uint32) if 0 < size <= _MOST_COUNTED else False
