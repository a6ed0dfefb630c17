"""DataLoaders: every batch as it is handed to the training, with the indices of its samples."""

from __future__ import annotations

import functools
import json
from array import array
from collections.abc import Callable
from typing import Any

from torch.utils.data import dataloader

from samerun import digest
from samerun.data.keyed import Index
from samerun.recording import workers
from samerun.recording.passes import Passes
from samerun.recording.recorder import Recorder
from samerun.recording.tensors import tensors_of

_Iterator = dataloader._BaseDataLoaderIter


def observe(recorder: Recorder) -> None:
    """Hook the iterators of every DataLoader."""
    batch = recorder.guard(functools.partial(_batch, recorder, Passes()))
    remember = recorder.guard(_remember)
    begin = recorder.guard(recorder.begin)
    next_: Callable[[Any], Any] = _Iterator.__next__
    next_index: Callable[[Any], Any] = _Iterator._next_index

    @functools.wraps(next_)
    def __next__(self: Any) -> Any:
        begin()
        phase, recorder.phase = recorder.phase, "data"
        loading = recorder.local.loading
        recorder.local.loading = self._num_workers > 0  # its own operations move with the workers' timing
        try:
            data = next_(self)
            batch(self, data)
            return data
        finally:
            recorder.phase = phase
            recorder.local.loading = loading

    @functools.wraps(next_index)
    def _next_index(self: Any) -> Any:
        index = next_index(self)
        remember(self, index)
        return index

    workers.observe(recorder)
    _Iterator.__next__ = __next__  # type: ignore[method-assign]
    _Iterator._next_index = _next_index  # type: ignore[method-assign]


def _remember(iterator: Any, index: Any) -> None:
    """Keep the indices of a batch on its way, under the number that its worker's answer will carry."""
    sent = getattr(iterator, "_send_idx", 0)
    if sent == 0:
        iterator._samerun_sent = {}
    iterator._samerun_sent[sent] = index


def _batch(recorder: Recorder, passes: Passes, iterator: Any, data: Any) -> None:
    dataset = iterator._dataset
    if getattr(dataset, "samerun_keyed", False):  # a view: its name is that of what it shows
        dataset = dataset.dataset
    name = type(dataset).__name__
    sent: dict[int, Any] = getattr(iterator, "_samerun_sent", {})
    awaited = getattr(iterator, "_task_info", {})
    for number in [number for number in sent if number not in awaited][:1]:
        _indices(recorder, name, sent.pop(number), iterator)
    recorder.watched("batch", tensors_of(data))
    loader = passes.of(recorder, name, iterator)
    recorder.row("batch", name, parts=recorder.tensors.parts(data), detail=loader)
    for act in recorder.after_batch:
        act()


def _indices(recorder: Recorder, name: str, index: Any, iterator: Any) -> None:
    if isinstance(index, Index):
        index = index.index
    indices = index if isinstance(index, list) else [index]
    if not indices or indices[0] is None:  # an iterable dataset has none
        return
    unordered = None
    try:
        ordered = digest.digest_bytes(array("q", indices).tobytes(), "indices")
        unordered = int.from_bytes(digest.digest_bytes(array("q", sorted(indices)).tobytes())[:8], "little")
    except (TypeError, OverflowError):  # a custom sampler may hand out anything
        ordered = digest.digest_value(index)
    of = {"workers": iterator._num_workers, "samples": len(indices), "batch": iterator._num_yielded}
    detail = json.dumps(of)  # "batch" counts from 1 in each epoch
    recorder.row("indices", name, digest=ordered, inputs=unordered, detail=detail)
