"""How a keyed loader shows itself to torch: the dataset, its epochs and the worker_init_fn.

What makes the samples is shared with torch's own loaders under control: samerun.sources.per_sample.keying.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.utils.data import IterableDataset, get_worker_info

from samerun.sources.per_sample import keying
from samerun.sources.per_sample.keying import sample_stream as sample_stream
from samerun.sources.per_sample.pass_streams import PassStreams
from samerun.streams import Stream


class KeyedIterable(keying.KeyedIterable, IterableDataset[Any]):
    """An iterable dataset as torch's iterator and fetcher see it."""


class Epochs:
    """The stream of the epoch under way, in the main process and in workers that outlive an epoch."""

    def __init__(self, stream: Stream, epoch: Any) -> None:
        self._stream = stream
        self._epoch = epoch  # int64 (1,), in memory shared with the workers

    def __call__(self) -> PassStreams:
        """As it is now."""
        return PassStreams.all_of(self._stream.child(int(self._epoch[0])))


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
