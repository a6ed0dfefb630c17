"""Randomness in datasets keyed by the sample, not by who fetches it.

Under control, before each `dataset[index]` of a map-style dataset the generators of python, numpy and torch
(CPU) are seeded from (seed, "worker", loader, epoch, "sample", index). So a sample is the same whatever
num_workers, persistent_workers, prefetch_factor or the number of ranks; and an index drawn twice in one
epoch gives the same sample twice. A dataset with `__getitems__` is keyed by the batch's indices, and so is
collate_fn. An iterable dataset is seeded once for each epoch and worker, from (seed, "worker", loader, epoch,
"worker", id): what it yields does depend on num_workers. In the main process (num_workers=0) the generators
are put back after each fetch.

`loader` counts the DataLoaders in the order in which they are first iterated; `epoch` counts how often that
one was. How they get to a worker process: `KeyedInit` stands in for the loader's worker_init_fn while the
workers are started. It is pickled with seed, loader and epoch (so it works by fork and by spawn), patches the
fetchers there, and calls the user's own. A persistent worker makes a new fetcher for each epoch, and counts.

The draw of base_seed from the main generator is left as it is, so that the main generator stays where torch
alone would have it; the value drawn is then replaced by one from (seed, loader, epoch), so that what a worker
draws outside of any sample repeats too.
"""

from __future__ import annotations

import itertools
import operator
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from samerun.sources import _generators, _patch
from samerun.sources.source import Undo
from samerun.streams import Name, Stream

_controls: list[_InForce] = []  # the last one counts
_unpatch: Undo | None = None
_next: Position | None = None  # of the fetcher that the main process is about to make
_workers: Position | None = None  # in a worker: of the next fetcher that it makes for its loader


@dataclass(frozen=True)
class Position:
    """An epoch of a loader."""

    seed: int
    loader: int
    epoch: int

    def stream(self, *path: Name) -> Stream:
        """The stream of something in this epoch."""
        return Stream(self.seed, "worker", self.loader, self.epoch, *path)

    def seed_of(self, *path: Name) -> int:
        """64 bits for it."""
        return self.stream(*path).seed64


@dataclass(frozen=True)
class KeyedInit:
    """The worker_init_fn of a controlled loader: brings the position along, then runs the user's own."""

    position: Position
    users: Callable[[int], None] | None

    def __call__(self, worker_id: int) -> None:
        """Called in the worker, once, before it makes its first fetcher."""
        global _workers
        install(self.position.seed)  # for as long as the worker lives
        _workers = self.position
        if self.users is not None:
            self.users(worker_id)


class _InForce:
    """One control; it counts its loaders and their epochs for itself, so that nested ones repeat too."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.positions: weakref.WeakKeyDictionary[Any, Position] = weakref.WeakKeyDictionary()
        self._ordinals = itertools.count()

    def advance(self, loader: Any) -> Position:
        """The next epoch of a loader; the first one of a loader not seen under this control."""
        before = self.positions.get(loader)
        if before is None:
            now = Position(self.seed, next(self._ordinals), 0)
        else:
            now = replace(before, epoch=before.epoch + 1)
        self.positions[loader] = now
        return now


def seed_in_force() -> int | None:
    """The seed of the control that keys DataLoaders here, None when there is none."""
    return _controls[-1].seed if _controls else None


def install(seed: int) -> Undo:
    """Key every DataLoader that is iterated from now on."""
    global _unpatch
    if _unpatch is None:
        _unpatch = _patch_loading()
    mine = _InForce(seed)
    _controls.append(mine)

    def undo() -> None:
        global _unpatch
        _controls.remove(mine)
        if not _controls and _unpatch is not None:
            _unpatch()
            _unpatch = None

    return undo


def _taken() -> Position | None:
    """The position of the fetcher that is being made; None for one that belongs to no loader of ours."""
    global _next, _workers
    position = _next
    if position is not None:
        _next = None
        return position
    position = _workers
    if position is not None:
        _workers = replace(position, epoch=position.epoch + 1)
    return position


def _patch_loading() -> Undo:
    from torch.utils.data import dataloader
    from torch.utils.data._utils import fetch

    base, many = dataloader._BaseDataLoaderIter, dataloader._MultiProcessingDataLoaderIter
    base_init: Any = base.__init__
    many_init: Any = many.__init__

    def init_base(self: Any, loader: Any) -> None:
        global _next
        base_init(self, loader)
        if _keys_itself(loader):
            return
        if isinstance(self, many):
            position = _controls[-1].positions[loader]
        else:
            position = _controls[-1].advance(loader)
            _next = position
        self._base_seed = position.seed_of("base_seed") >> 1  # torch's are below 2**63

    def init_many(self: Any, loader: Any) -> None:
        if _keys_itself(loader):
            many_init(self, loader)
            return
        users = loader.worker_init_fn
        loader.worker_init_fn = KeyedInit(_controls[-1].advance(loader), users)
        try:
            many_init(self, loader)
        finally:
            loader.worker_init_fn = users

    return _patch.all_of(
        [
            _patch.replace(base, "__init__", init_base),
            _patch.replace(many, "__init__", init_many),
            *_patch_map(fetch),
            *_patch_iterable(fetch),
        ]
    )


def _patch_map(fetch: Any) -> list[Undo]:
    owner = fetch._BaseDatasetFetcher
    init, fetch_ = owner.__init__, fetch._MapDatasetFetcher.fetch

    def keyed_init(self: Any, dataset: Any, auto_collation: Any, collate_fn: Any, drop_last: Any) -> None:
        position = _taken() if isinstance(self, fetch._MapDatasetFetcher) else None
        if position is not None:
            self._samerun_apart = not _in_worker()
            dataset = _view(dataset, position)
            collate_fn = _Collate(collate_fn, dataset)
        init(self, dataset, auto_collation, collate_fn, drop_last)

    def keyed_fetch(self: Any, index: Any) -> Any:
        if getattr(self, "_samerun_apart", False):
            return _generators.apart(fetch_, self, index)
        return fetch_(self, index)

    return [
        _patch.replace(owner, "__init__", keyed_init),
        _patch.replace(fetch._MapDatasetFetcher, "fetch", keyed_fetch),
    ]


def _patch_iterable(fetch: Any) -> list[Undo]:
    owner = fetch._IterableDatasetFetcher
    init, fetch_ = owner.__init__, owner.fetch

    def keyed_init(self: Any, *args: Any, **kwargs: Any) -> None:
        position = _taken()
        if position is None:
            init(self, *args, **kwargs)
            return
        worker = _in_worker()
        before = _generators.capture()
        _generators.seed_all(position.seed_of("worker", worker.id if worker else 0))
        try:
            init(self, *args, **kwargs)
        finally:
            if not worker:  # its own generators go on with each fetch
                self._samerun_own = _generators.capture()
                _generators.restore(before)

    def keyed_fetch(self: Any, index: Any) -> Any:
        own = getattr(self, "_samerun_own", None)
        if own is None:
            return fetch_(self, index)
        before = _generators.capture()
        _generators.restore(own)
        try:
            return fetch_(self, index)
        finally:
            self._samerun_own = _generators.capture()
            _generators.restore(before)

    return [_patch.replace(owner, "__init__", keyed_init), _patch.replace(owner, "fetch", keyed_fetch)]


def _keys_itself(loader: Any) -> bool:
    """Whether it is a samerun.data.DataLoader, as that shows itself to torch."""
    return getattr(loader.dataset, "samerun_keyed", False) is True


def _in_worker() -> Any:
    """The worker's id and number, None in the main process."""
    from torch.utils.data import get_worker_info

    return get_worker_info()


def _view(dataset: Any, position: Position) -> _Samples:
    return (_Batches if takes_whole_batches(dataset) else _Samples)(dataset, position)


def takes_whole_batches(dataset: Any) -> bool:
    """Whether a dataset makes the samples of a batch together, so that only the batch can be keyed."""
    return bool(getattr(dataset, "__getitems__", None)) and not _one_by_one(dataset)


def _one_by_one(dataset: Any) -> bool:
    """Whether it is a Subset that takes single samples from its dataset, though it has `__getitems__`."""
    from torch.utils.data import Subset

    if type(dataset) is not Subset:
        return False
    inner = dataset.dataset
    return not callable(getattr(inner, "__getitems__", None)) or _one_by_one(inner)


class _Samples:
    """A dataset as its fetcher sees it: seeds the generators before each sample."""

    def __init__(self, dataset: Any, position: Position) -> None:
        self._dataset = dataset
        self.position = position
        self._stream = position.stream("sample")
        self.fetched: Any = ()  # what the batch that is collated next was fetched by

    def __getitem__(self, index: Any) -> Any:
        self.fetched = (index,)
        _generators.seed_all(self._stream.child_seed(*index_names(index)))
        return self._dataset[index]

    def __getitems__(self, indices: Any) -> Any:
        # One by one, as torch does; but the states of a batch are made together, which is far quicker.
        self.fetched = indices = list(indices)
        seeds = [self._stream.child_seed(*index_names(index)) for index in indices]
        dataset, samples = self._dataset, []
        for index, _ in zip(indices, _generators.seeded_with_each(seeds), strict=True):
            samples.append(dataset[index])
        return samples


class _Batches(_Samples):
    """Likewise, of a dataset that gives whole batches."""

    def __getitems__(self, indices: Any) -> Any:
        self.fetched = (indices,)
        _generators.seed_all(self.position.seed_of("batch", *index_names(indices)))
        return self._dataset.__getitems__(indices)


class _Collate:
    """collate_fn as its fetcher sees it: the generators are seeded from the samples of the batch."""

    def __init__(self, collate_fn: Callable[[Any], Any], samples: _Samples) -> None:
        self._collate_fn = collate_fn
        self._samples = samples

    def __call__(self, data: Any) -> Any:
        from torch.utils.data import default_collate, default_convert

        if self._collate_fn not in (default_collate, default_convert):  # they draw nothing
            names = (name for index in self._samples.fetched for name in index_names(index))
            _generators.seed_all(self._samples.position.seed_of("collate", *names))
        return self._collate_fn(data)


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
