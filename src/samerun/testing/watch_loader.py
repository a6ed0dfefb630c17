"""Watches a DataLoader: the samples it gives, their order, and the random numbers that each was made with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_leaves
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from samerun.digest import combine
from samerun.errors import UsageError
from samerun.ranks.named_digests import list_entries
from samerun.sources.catalogue import find_sources
from samerun.sources.numpy_global import NumpyGlobal
from samerun.sources.per_sample.keying import index_names, takes_whole_batches
from samerun.sources.python_random import PythonRandom
from samerun.sources.torch_cpu import TorchCpu
from samerun.streams import Name
from samerun.testing.find_generators import find_generators

_NUMBERS = 64
_GLOBAL = (PythonRandom.id, NumpyGlobal.id, TorchCpu.id)


@dataclass(frozen=True)
class Observation:
    """Something that was made of the dataset."""

    what: str  # "sample"; "batch", of a dataset that makes whole ones; "collate"
    index: tuple[Name, ...]
    worker: int | None  # None: the main process
    content: bytes = b""  # the digest of a sample
    numbers: tuple[float, ...] = ()  # the first ones of its tensors
    drawn: Mapping[str, bytes] = field(default_factory=dict)  # of the generators drawn from, the state before


def watch(loader: Any, epochs: int) -> list[list[Observation]]:
    """What the loader makes in its next epochs, in the order in which it hands it out.

    The loader is of no other use afterwards. Raises UsageError for one that cannot be watched.
    """
    if not isinstance(loader, DataLoader) or isinstance(loader.dataset, IterableDataset):
        kind = type(loader.dataset if isinstance(loader, DataLoader) else loader).__name__
        raise UsageError(
            f"only a torch DataLoader over a map-style dataset can be watched, not a {kind}; "
            'leave "order" and "augmentation" out of parts'
        )
    whole = takes_whole_batches(loader.dataset)
    dataset = (_WatchedBatches if whole else _WatchedSamples)(loader.dataset)
    vars(loader)["dataset"] = dataset  # its own __setattr__ refuses
    loader.collate_fn = _WatchedCollate(loader.collate_fn, dataset)
    return [list(_walk_epoch(loader, epoch)) for epoch in range(epochs)]


def _walk_epoch(loader: DataLoader[Any], epoch: int) -> Iterator[Observation]:
    inner = getattr(loader.batch_sampler, "sampler", None)
    for each in (loader, loader.sampler, loader.batch_sampler, inner, loader.dataset):
        if callable(getattr(each, "set_epoch", None)):
            each.set_epoch(epoch)  # type: ignore[union-attr]
    for batch in loader:
        if not isinstance(batch, _Batch):
            raise UsageError(
                "the loader gives something else than its collate_fn returned, or had been iterated before; "
                "make() must return a new torch DataLoader"
            )
        yield from batch.seen


class _Batch:
    """What the watched collate_fn returns."""

    def __init__(self, seen: list[Observation]) -> None:
        self.seen = seen


@dataclass(frozen=True)
class _Sample:
    """A sample (or all of a batch that the dataset made in one piece) on its way to collate_fn."""

    value: Any
    seen: tuple[Observation, ...]


class _WatchedDataset:
    """A dataset, and the generators that it could draw from."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what kind of dataset this is, the classes below say
            raise AttributeError(name)
        return getattr(vars(self)["dataset"], name)

    def __getstate__(self) -> dict[str, Any]:
        return {"dataset": self.dataset}  # a worker looks for the generators of its own copy

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    @cached_property
    def _held(self) -> dict[str, Any]:
        return find_generators(self.dataset, "dataset")

    def watched(self, what: str, index: tuple[Name, ...], make: Callable[[], Any]) -> tuple[Any, Observation]:
        """Make something, and see what it drew from."""
        before = self._states()
        value = make()
        after = self._states()
        drawn = {name: state for name, state in before.items() if after.get(name) != state}
        return value, Observation(what, index, _get_worker(), drawn=drawn)

    def _states(self) -> dict[str, bytes]:
        sources = {
            id_: source for id_, source in find_sources().items() if id_ in _GLOBAL and source.in_play()
        }
        states = {id_: source.digest() or b"" for id_, source in sources.items()}
        for name, generator in self._held.items():
            states[name] = combine(entry.digest for entry in list_entries(generator))
        return states


class _WatchedSamples(_WatchedDataset):
    """One that makes sample by sample."""

    def __getitem__(self, index: Any) -> _Sample:
        value, seen = self.watched("sample", index_names(index), lambda: self.dataset[index])
        return _Sample(value, (replace(seen, content=_digest_content(value), numbers=_list_numbers(value)),))


class _WatchedBatches(_WatchedSamples):
    """One that makes whole batches: what it draws is the batch's."""

    def __getitems__(self, indices: Any) -> Any:
        names = index_names(list(indices))
        values, drawn = self.watched("batch", names, lambda: self.dataset.__getitems__(indices))
        if not isinstance(values, list) or len(values) != len(indices):
            return _Sample(values, (drawn, _make_seen(names, values)))
        made = [
            _Sample(value, (_make_seen(index_names(index), value),))
            for index, value in zip(indices, values, strict=True)
        ]
        return [replace(made[0], seen=(drawn, *made[0].seen)), *made[1:]]


class _WatchedCollate:
    """A collate_fn whose result is what was seen."""

    def __init__(self, collate_fn: Callable[[Any], Any], dataset: _WatchedDataset) -> None:
        self._collate_fn = collate_fn
        self._dataset = dataset

    def __call__(self, data: Any) -> _Batch:
        samples: list[_Sample] = data if isinstance(data, list) else [data]
        values = [sample.value for sample in samples]
        given = values if isinstance(data, list) else values[0]
        seen = [each for sample in samples for each in sample.seen]
        names = tuple(name for each in seen if each.what == "sample" for name in each.index)
        _, collated = self._dataset.watched("collate", names, lambda: self._collate_fn(given))
        return _Batch([*seen, collated])


def _make_seen(names: tuple[Name, ...], value: Any) -> Observation:
    return Observation("sample", names, _get_worker(), _digest_content(value), _list_numbers(value))


def _list_numbers(value: Any) -> tuple[float, ...]:
    """The first elements of the tensors and arrays in a sample, and the floats in it."""
    found: list[float] = []
    for leaf in tree_leaves(value):
        if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "biuf":
            leaf = torch.from_numpy(leaf.ravel()[:_NUMBERS].astype(np.float64))
        if isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided and not leaf.is_complex():
            found += leaf.detach().flatten()[:_NUMBERS].double().tolist()
        elif isinstance(leaf, float):
            found.append(leaf)
    return tuple(found[:_NUMBERS])


def _digest_content(value: Any) -> bytes:
    return combine(entry.digest for entry in list_entries(value))


def _get_worker() -> int | None:
    info = get_worker_info()
    return None if info is None else info.id
