"""Per-sample randomness: the generators are seeded from the sample's name before it is made.

The main process hands out batches of indices that say which epoch they are of; a view of the dataset, in the
main process or in a worker, seeds python, NumPy and torch for each sample. So a sample depends on (seed,
name, epoch, index) and on nothing else: not on which worker makes it, nor when, nor on what was made
before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torch.utils.data import IterableDataset, default_collate, default_convert, get_worker_info

from samerun.errors import UsageError
from samerun.ranks import rank
from samerun.sources import _generators
from samerun.sources._keyed import index_names, takes_whole_batches
from samerun.streams import Name, Stream

# Whose randomness is being drawn here: of what has these names, or of the first index that is not made yet.
_now: tuple[Stream, Sequence[Any], list[Any] | None] | None = None


def sample_stream(*path: Name) -> Stream:
    """The stream of the sample that is being made, for `__getitem__` and transforms.

    `sample_stream("crop").numpy()` is a NumPy generator, `.python()` and `.torch()` likewise: the same for
    the same (seed, epoch, sample) whoever makes it. Raises UsageError when no keyed loader is making a
    sample.
    """
    if _now is None:
        raise UsageError(
            "no sample is being made here: sample_stream() works in the dataset, the transforms and the "
            "collate_fn of a samerun.data.DataLoader"
        )
    above, names, made = _now
    if made is not None:
        names = index_names(names[len(made)])
    return above.child(*names, *path)


class Indices(list[Any]):
    """The indices of a batch, and the epoch that it belongs to."""

    def __init__(self, indices: Any, epoch: int) -> None:
        super().__init__(indices)
        self.epoch = epoch

    def __reduce__(self) -> tuple[Any, ...]:
        return Indices, (list(self), self.epoch)


class Index:
    """One index, where the loader makes no batches (batch_size=None), and its epoch."""

    def __init__(self, index: Any, epoch: int) -> None:
        self.index = index
        self.epoch = epoch


class Made:
    """The samples of a batch on their way to collate_fn, with what its randomness is named by."""

    def __init__(self, samples: Any, above: Stream, named_by: Any) -> None:
        self.samples = samples
        self.above = above
        self.named_by = named_by  # the indices; the position in an iterable dataset


class Keyed:
    """A map-style dataset as its fetcher sees it."""

    samerun_keyed = True  # nobody else needs to key it

    def __init__(self, dataset: Any, stream: Stream) -> None:
        self.dataset = dataset
        self._stream = stream
        self._whole = takes_whole_batches(dataset)
        self._epoch: int | None = None

    def _above(self, epoch: int) -> Stream:
        if self._epoch != epoch:
            self._epoch, self._of = epoch, self._stream.child(epoch)
            self._samples = self._of.child("sample")
        return self._of

    def __getitems__(self, indices: Indices) -> Made:
        above = self._above(indices.epoch)
        with _Drawing():
            if self._whole:
                names = "batch", *index_names(indices)
                samples = _drawn(above, names, self.dataset.__getitems__, list(indices))
            else:
                samples = _each(self._samples, indices, self.dataset.__getitem__)
        return Made(samples, above, indices)

    def __getitem__(self, index: Index) -> Made:
        above = self._above(index.epoch)
        with _Drawing():
            (sample,) = _each(self._samples, [index.index], self.dataset.__getitem__)
        return Made(sample, above, index.index)


class KeyedIterable(IterableDataset[Any]):
    """An iterable dataset as its fetcher sees it: seeded by (epoch, shard, position) before each item.

    A shard is one worker of one rank. What a worker yields is the dataset's own affair, so the items do
    depend on the number of workers; their randomness repeats for the same number.
    """

    samerun_keyed = True

    def __init__(self, dataset: Any, stream: Stream, epoch: Any) -> None:
        self.dataset = dataset
        self._stream = stream
        self._epoch = epoch  # int64 (1,), in memory shared with the workers

    def __iter__(self) -> Iterator[Made]:
        info = get_worker_info()
        shard = rank() * (info.num_workers if info else 1) + (info.id if info else 0)
        above = self._stream.child(int(self._epoch[0]), "shard", shard)
        with _Drawing():
            items = _drawn(above, ("begin",), iter, self.dataset)
        position = 0
        while True:
            try:
                with _Drawing():
                    item = _drawn(above, (position,), next, items)
            except StopIteration:
                return
            yield Made(item, above, position)
            position += 1


class Collate:
    """A collate_fn as its fetcher sees it: its randomness is named by the samples of the batch."""

    def __init__(self, collate_fn: Callable[[Any], Any]) -> None:
        self.collate_fn = collate_fn

    def __call__(self, made: Any) -> Any:
        """Collate a batch, or the one sample where no batches are made."""
        if isinstance(made, list):  # of an iterable dataset: the items one by one
            first, samples = made[0], [item.samples for item in made]
        else:
            first, samples = made, made.samples
        if self.collate_fn in (default_collate, default_convert):  # they draw nothing
            return self.collate_fn(samples)
        with _Drawing():
            names = "collate", *index_names(first.named_by)
            return _drawn(first.above, names, self.collate_fn, samples)


class WorkerInit:
    """A worker_init_fn that shows the user's own the dataset that the user gave."""

    def __init__(self, worker_init_fn: Callable[[int], None] | None) -> None:
        self.worker_init_fn = worker_init_fn

    def __call__(self, worker_id: int) -> None:
        """Called in the worker, once."""
        info: Any = get_worker_info()
        object.__setattr__(info, "dataset", info.dataset.dataset)  # WorkerInfo refuses to have it set
        if self.worker_init_fn is not None:
            self.worker_init_fn(worker_id)


class _Drawing:
    """In the main process, leaves the generators as it found them; a worker's are nobody else's."""

    def __enter__(self) -> None:
        self._outer = _now  # a sample that loads others
        inside = get_worker_info() is not None and _now is None
        self._before = None if inside else _generators.capture()

    def __exit__(self, *error: object) -> None:
        global _now
        _now = self._outer
        if self._before is not None:
            _generators.restore(self._before)


def _each(above: Stream, indices: Sequence[Any], make: Callable[[Any], Any]) -> list[Any]:
    """Make the samples of a batch, each from its own randomness."""
    global _now
    samples: list[Any] = []
    seeds = _generators.seeded_with_each(_seeds(above, indices))
    _now = above, indices, samples
    for index, _ in zip(indices, seeds, strict=True):
        samples.append(make(index))
    return samples


def _seeds(above: Stream, indices: Sequence[Any]) -> list[int]:
    """Of each index: by its number; where it is none, by its names."""
    if set(map(type, indices)) == {int}:  # all but always
        try:
            return above.item_seeds(indices)
        except OverflowError:
            pass
    return [_seed(above, index_names(index)) for index in indices]


def _seed(above: Stream, names: tuple[Name, ...]) -> int:
    if len(names) == 1 and type(names[0]) is int and 0 <= names[0] < 2**64:
        return above.item_seeds([names[0]])[0]
    return above.child_seed(*names)


def _drawn(above: Stream, names: tuple[Name, ...], make: Callable[..., Any], argument: Any) -> Any:
    """Make something from its own randomness."""
    global _now
    _now = above, names, None
    _generators.seed_all(above.child_seed(*names))
    return make(argument)
