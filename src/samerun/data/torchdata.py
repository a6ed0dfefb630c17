"""Keyed samples and order for torchdata's StatefulDataLoader, for those who train with that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from torch.utils.data import BatchSampler, IterableDataset, default_collate

from samerun.data.keyed import WorkerInit
from samerun.data.order import Order
from samerun.data.sampler import Sampler
from samerun.data.seeds import seed_or_default
from samerun.errors import StateError, UsageError
from samerun.sources.per_sample.keying import Collate, HandedIndices, Keyed
from samerun.streams import Stream, stream


def stateful(
    dataset: Any,
    batch_size: int = 1,
    *,
    shuffle: bool = False,
    sampler: Iterable[Any] | None = None,
    drop_last: bool = False,
    collate_fn: Callable[[Any], Any] = default_collate,
    worker_init_fn: Callable[[int], None] | None = None,
    seed: int | None = None,
    name: str = "data",
    **others: Any,
) -> Any:
    """A torchdata `StatefulDataLoader` over keyed samples, in an order keyed by the epoch.

    Its own state_dict() then resumes exactly, augmentation included, with workers too. Other arguments go to
    torchdata. Raises UsageError without torchdata, and for iterable datasets (torchdata resumes those).
    """
    try:
        from torchdata.stateful_dataloader import StatefulDataLoader  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise UsageError(
            "stateful() needs torchdata; pip install torchdata, or use samerun.data.DataLoader"
        ) from None
    if isinstance(dataset, IterableDataset):
        raise UsageError("stateful() is for datasets with indices; give an iterable one to torchdata itself")
    if sampler is not None and shuffle:
        raise UsageError("shuffle=True and sampler= contradict each other; leave one of them out")
    value = sampler.seed if seed is None and isinstance(sampler, Sampler) else seed_or_default(seed)
    if sampler is None:
        sampler = Sampler(dataset, shuffle=shuffle, seed=value, name=name, rank=0, world_size=1)
    above = stream(value, name)
    return StatefulDataLoader(
        Keyed(dataset),
        batch_sampler=_Batches(BatchSampler(sampler, batch_size, drop_last), above, dataset),
        collate_fn=Collate(collate_fn),
        worker_init_fn=WorkerInit(worker_init_fn),
        **others,
    )


class _Batches:
    """A batch sampler whose every iteration is the next epoch, from its first batch drawn."""

    def __init__(self, batches: BatchSampler, above: Stream, dataset: Any) -> None:
        self.batches = batches
        self.above = above
        self.dataset = dataset
        self.epoch = 0  # the next one

    def __iter__(self) -> _Epoch:
        return _Epoch(self)

    def __len__(self) -> int:
        return len(self.batches)

    def state_dict(self) -> dict[str, int]:
        return {"epoch": self.epoch}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        self.epoch = state["epoch"]


class _Epoch(Iterator[HandedIndices]):
    def __init__(self, owner: _Batches) -> None:
        self._owner = owner
        self._place: tuple[int, int, int] | None = None  # epoch, batches drawn, the hash of their indices
        self._order: Order | None = None
        self._batches: Iterator[Any] = iter(())

    def _begin(self, epoch: int, start: int, expected: int) -> None:
        owner = self._owner
        owner.epoch = epoch + 1
        tell = getattr(owner.batches.sampler, "set_epoch", lambda epoch: None)
        self._order = Order(owner.batches, owner.above, True, owner.dataset, tell)
        self._order.follow(epoch, start, expected)
        self._place = epoch, start, expected
        self._batches = iter(self._order)

    def __next__(self) -> HandedIndices:
        if self._order is None:
            self._begin(self._owner.epoch, 0, 0)
        batch: HandedIndices = next(self._batches)
        assert self._order is not None and self._place is not None
        epoch, drawn, _ = self._place
        self._place = epoch, drawn + 1, self._order.hashes.popleft()
        return batch

    def state_dict(self) -> dict[str, int]:
        epoch, drawn, order = self._place or (self._owner.epoch, 0, 0)
        return {"epoch": epoch, "drawn": drawn, "order": order}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        if not {"epoch", "drawn", "order"} <= state.keys():
            raise StateError(
                f"the state of the batches holds {sorted(state)}; was it saved by stateful()'s loader?"
            )
        self._begin(state["epoch"], state["drawn"], state["order"])
