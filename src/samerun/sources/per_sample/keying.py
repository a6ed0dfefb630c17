"""Per-sample randomness: the generators are seeded from a sample's name before the sample is made.

The main process hands out indices, each with the stream of the pass that it belongs to and with how often it
was handed out before (passes.py). A view of the dataset, in the main process or in a worker, seeds python,
NumPy and torch (CPU) for each sample. So a sample depends on its pass, its index and that count alone: not on
which worker makes it, nor when, nor on what was made before.

Shared by samerun.data.DataLoader and, under control, by torch's own: they differ in what names a pass.
"""

from __future__ import annotations

import functools
import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from samerun.errors import UsageError
from samerun.sources.per_sample import seeder
from samerun.sources.per_sample.pass_streams import PassStreams
from samerun.streams import Name, Stream

FindApart = Callable[[], seeder.Apart]


class _Now(threading.local):
    """Whose randomness is drawn in this thread: of what has these names, or of the sample being made."""

    of: tuple[Stream, Callable[[], tuple[Name, ...]]] | None = None
    apart = seeder.TOGETHER


_now = _Now()


def sample_stream(*path: Name) -> Stream:
    """The stream of the sample that is being made, for `__getitem__` and transforms.

    `sample_stream("crop").numpy()` is a NumPy generator, `.python()` and `.torch()` likewise: the same for
    the same (seed, epoch, sample) whoever makes it. Raises UsageError when no keyed loader is making a
    sample.
    """
    if _now.of is None:
        raise UsageError(
            "no sample is being made here: sample_stream() works in the dataset, the transforms and the "
            "collate_fn of a samerun.data.DataLoader, and of torch's under a control"
        )
    above, names = _now.of
    return above.child(*names(), *path)


class HandedIndices:
    """Indices as the main process hands them out: a batch, or the one index where no batches are made.

    `again` says of each index how often its pass handed it out before, None when never. `names` are those of
    each index, where not all are integers.
    """

    __slots__ = ("above", "again", "indices", "names")

    def __init__(
        self,
        indices: Any,
        above: PassStreams,
        again: Sequence[int] | None = None,
        names: Sequence[tuple[Name, ...]] | None = None,
    ) -> None:
        self.indices = indices  # as the sampler gave them
        self.above = above  # the streams of the pass
        self.again = again
        self.names = names

    def __reduce__(self) -> tuple[Any, ...]:
        return HandedIndices, (self.indices, self.above, self.again, self.names)

    def name_all(self, indices: Sequence[Any]) -> tuple[Name, ...]:
        """What names all of them together."""
        names = tuple(name for each in self.names or map(index_names, indices) for name in each)
        return names if self.again is None else (*names, "again", *self.again)

    def name(self, indices: Sequence[Any], at: int) -> tuple[Name, ...]:
        """What names one of them."""
        names = index_names(indices[at]) if self.names is None else self.names[at]
        again = self.again[at] if self.again is not None else 0
        return ("sample again", again, *names) if again else ("sample", *names)


class SampleBatch:
    """The samples of a batch on their way to collate_fn, with what their randomness is named by."""

    def __init__(self, samples: Any, above: PassStreams, names: tuple[Name, ...]) -> None:
        self.samples = samples
        self.above = above
        self.names = names


class Keyed:
    """A map-style dataset as its fetcher sees it."""

    samerun_keyed = True  # nobody else needs to key it

    def __init__(self, dataset: Any, *, apart: FindApart = seeder.stay_together) -> None:
        self.dataset = dataset
        self._whole = takes_whole_batches(dataset)
        self._apart = apart  # from samples of other processes that torch is seeded alike in

    def __getitems__(self, handed: Any) -> Any:
        if type(handed) is not HandedIndices:  # by an iterator that is none of torch's: as without this view
            dataset = self.dataset
            return dataset.__getitems__(handed) if self._whole else [dataset[index] for index in handed]
        if not self._whole:
            indices = handed.indices
            if not isinstance(indices, (list, tuple)):
                indices = list(indices)
            with drawing(apart=self._apart) as draw:
                samples: Any = draw.make_each(handed, indices, self.dataset)
            return SampleBatch(samples, handed.above, handed.name_all(indices))
        names = handed.name_all(list(handed.indices))
        with drawing(apart=self._apart) as draw:
            samples = draw.make(handed.above, ("batch", *names), self.dataset.__getitems__, handed.indices)
        return SampleBatch(samples, handed.above, names)

    def __getitem__(self, handed: Any) -> Any:
        if type(handed) is not HandedIndices:
            return self.dataset[handed]
        indices = [handed.indices]
        with drawing(apart=self._apart) as draw:
            (sample,) = draw.make_each(handed, indices, self.dataset)
        return SampleBatch(sample, handed.above, handed.name_all(indices))


class KeyedIterable:
    """An iterable dataset as its fetcher sees it: seeded by (pass, shard, position) before each item.

    A shard is one worker, of one rank where ranks have shards. What a worker yields is the dataset's own
    affair, so the items do depend on the number of workers; their randomness repeats for the same number.
    """

    samerun_keyed = True

    def __init__(
        self,
        dataset: Any,
        above: Callable[[], PassStreams],
        rank: int,
        *,
        apart: FindApart = seeder.stay_together,
    ) -> None:
        self.dataset = dataset
        self._apart = apart
        self._above = above
        self._rank = rank  # of the main process: a worker may not know it

    def __iter__(self) -> Iterator[SampleBatch]:
        from torch.utils.data import get_worker_info

        info = get_worker_info()
        shard = self._rank * (info.num_workers if info else 1) + (info.id if info else 0)
        above = self._above().child("shard", shard)
        own = _OwnSeeds()
        with drawing(apart=self._apart) as draw:
            items = draw.make(above, ("begin",), iter, self.dataset, own)
        return _Items(above, items, own, apart=self._apart)


class _OwnSeeds:
    """The generators that an iterable dataset has seeded in this pass: it goes on with its own numbers.

    Workers that seed themselves alike and share out what they shuffle need the same numbers in all of them.
    """

    def __init__(self) -> None:
        self._generators: frozenset[str] = frozenset()
        self._states: seeder.State | None = None
        self._counts: dict[str, int] = {}

    def begin(self) -> None:
        """The generators were seeded for an item: those that are the dataset's go on."""
        if self._states is not None:
            seeder.write_states(self._generators, self._states)
        self._counts = seeder.count_seedings()

    def end(self) -> None:
        """The item is made."""
        self._generators |= seeder.find_seeded_since(self._counts)
        if self._generators:
            self._states = seeder.read_states(self._generators)


class _Items(Iterator[SampleBatch]):
    """The items of an iterable dataset; an error in one does not end it, where the dataset's own goes on."""

    def __init__(self, above: PassStreams, items: Iterator[Any], own: _OwnSeeds, *, apart: FindApart) -> None:
        self._own = own
        self._above = above
        self._apart = apart
        self._items = items
        self._position = -1

    def __next__(self) -> SampleBatch:
        self._position += 1
        with drawing(apart=self._apart) as draw:
            item = draw.make(self._above, (self._position,), next, self._items, self._own)
        return SampleBatch(item, self._above, (self._position,))


class Collate:
    """A collate_fn as its fetcher sees it: its randomness is named by the samples of the batch."""

    def __init__(self, collate_fn: Callable[[Any], Any], *, apart: FindApart = seeder.stay_together) -> None:
        self.collate_fn = collate_fn
        self._apart = apart

    def __call__(self, made: Any) -> Any:
        """Collate a batch, or the one sample where no batches are made."""
        from torch.utils.data import default_collate, default_convert

        if type(made) is list and made and type(made[0]) is SampleBatch:  # the items of an iterable dataset
            first, samples = made[0], [item.samples for item in made]
        elif type(made) is SampleBatch:
            first, samples = made, made.samples
        else:
            return self.collate_fn(made)
        if self.collate_fn in (default_collate, default_convert):  # they draw nothing
            return self.collate_fn(samples)
        with drawing(apart=self._apart) as draw:
            return draw.make(first.above, ("collate", *first.names), self.collate_fn, samples)


# --- drawing ------------------------------------------------------------------------------------------------


class drawing:  # a context, spelled as one
    """In the main process, leaves the generators as it found them; a worker's are nobody else's.

    They are the process's, and the main thread's alone to change: elsewhere samples draw as they come.
    """

    def __init__(self, *, apart: FindApart = seeder.stay_together) -> None:
        self._find_apart = apart
        self._apart = seeder.TOGETHER
        self._swaps = True
        self._before: seeder.State | None = None

    def __enter__(self) -> drawing:
        self._outer = _now.of  # a sample that loads others
        inside = self._outer is None and _is_in_worker()
        self._swaps = inside or seeder.may_swap()
        self._outer_apart = _now.apart
        self._apart = _now.apart = self._find_apart() if self._outer is None else _now.apart
        self._keep = self._keep_states if self._swaps and not inside else None
        return self

    def _keep_states(self) -> None:
        """Just before the first sample's are written: what another thread drew in between comes again."""
        self._before = seeder.capture()

    def __exit__(self, *error: object) -> None:
        _now.of, _now.apart = self._outer, self._outer_apart
        if self._before is not None:
            seeder.restore(self._before)

    def make_each(self, handed: HandedIndices, indices: Sequence[Any], dataset: Any) -> list[Any]:
        """Make the samples of a batch, each from its own randomness."""
        samples: list[Any] = []
        above = handed.above.begin_in(self._apart.begun)
        _now.of = above.torch, lambda: handed.name(indices, len(samples))
        if not self._swaps:
            for index in indices:
                samples.append(dataset[index])
            return samples
        seeds, others = above.seed_all(lambda above: _seeds(above, handed, indices))
        each = seeder.seed_with_each(seeds, above.part(self._apart), self._keep, others)
        for index, _ in zip(indices, each, strict=True):
            samples.append(dataset[index])
        return samples

    def make(
        self,
        above: PassStreams,
        names: tuple[Name, ...],
        how: Callable[..., Any],
        argument: Any,
        own: _OwnSeeds | None = None,
    ) -> Any:
        """Make something from its own randomness, but for what the dataset has seeded in this pass."""
        above = above.begin_in(self._apart.begun)
        _now.of = above.torch, lambda: names
        if not self._swaps:
            return how(argument)
        (seed,), others = above.seed_all(lambda each: [each.child_seed(*names)])
        seeder.seed_all(seed, above.part(self._apart), self._keep, others)
        if own is None:
            return how(argument)
        own.begin()
        try:
            return how(argument)
        finally:
            own.end()


def _is_in_worker() -> bool:
    from torch.utils.data import get_worker_info

    return get_worker_info() is not None


def _seeds(of_pass: Stream, handed: HandedIndices, indices: Sequence[Any]) -> list[int]:
    """Of each index: by its number; where it is none, by its names."""
    above, again = _derive_samples(of_pass), handed.again
    if handed.names is None and again is None and set(map(type, indices)) == {int}:  # all but always
        try:
            return above.item_seeds(indices)
        except OverflowError:  # below 0, or above 2**64
            pass
    counts = again or [0] * len(indices)
    names = handed.names or [index_names(index) for index in indices]
    return [
        _seed(_derive_again(of_pass, count) if count else above, each)
        for each, count in zip(names, counts, strict=True)
    ]


@functools.lru_cache(maxsize=8)
def _derive_samples(above: Stream) -> Stream:
    return above.child("sample")


@functools.lru_cache(maxsize=64)
def _derive_again(above: Stream, count: int) -> Stream:
    return above.child("sample again", count)


def _seed(above: Stream, names: tuple[Name, ...]) -> int:
    if len(names) == 1 and type(names[0]) is int and 0 <= names[0] < 2**64:
        return above.item_seeds([names[0]])[0]
    return above.child_seed(*names)


# --- what indices and datasets are --------------------------------------------------------------------------


def takes_whole_batches(dataset: Any) -> bool:
    """Whether a dataset makes the samples of a batch together, so that only the batch can be keyed."""
    return bool(getattr(dataset, "__getitems__", None)) and not _takes_one_by_one(dataset)


def _takes_one_by_one(dataset: Any) -> bool:
    """Whether it is a Subset that takes single samples from its dataset, though it has `__getitems__`."""
    from torch.utils.data import Subset

    if type(dataset) is not Subset:
        return False
    inner = dataset.dataset
    return not callable(getattr(inner, "__getitems__", None)) or _takes_one_by_one(inner)


def index_names(index: Any) -> tuple[Name, ...]:
    """An index as parts of a path; whatever is neither integer, string nor a list of these by its repr."""
    if type(index) is int:  # all but always
        return (index,)
    if isinstance(index, str):
        return (index,)
    if isinstance(index, (list, tuple)):
        return ("[", *(name for item in index for name in index_names(item)), "]")
    try:
        return (operator.index(index),)
    except TypeError:
        return (type(index).__name__, repr(index))
