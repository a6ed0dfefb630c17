"""DataLoaders: every batch as it is handed to the training, with the indices of its samples."""

from __future__ import annotations

import functools
import json
from array import array
from collections.abc import Callable
from typing import Any

from torch.utils.data import dataloader

from samerun import digest
from samerun.recording.draws import workers
from samerun.recording.recorder import Recorder
from samerun.recording.steps.exact_values import is_exact
from samerun.recording.steps.loader_passes import Passes
from samerun.recording.trace.pending_record import PendingRecord
from samerun.recording.trace.tensor_digests import walk_tensors
from samerun.runs.schema import EXACT
from samerun.sources.per_sample.keying import HandedIndices
from samerun.wrapping import SELF, wrap_attribute

_Iterator = dataloader._BaseDataLoaderIter


def observe(recorder: Recorder) -> None:
    """Hook the iterators of every DataLoader."""
    batch = recorder.guard(functools.partial(_record_batch, recorder, Passes()))
    remember = recorder.guard(_remember)
    begin = recorder.guard(recorder.begin)
    cursor = recorder.cursor

    def next_(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        iterator = SELF.of(args, kwargs)
        if not isinstance(iterator, _Iterator):
            return original(*args, **kwargs)
        begin()
        phase, cursor.phase = cursor.phase, "data"
        loading = cursor.local.loading
        cursor.local.loading = iterator._num_workers > 0  # its operations move with the workers' timing
        try:
            data = original(*args, **kwargs)
            batch(iterator, data)
            return data
        finally:
            cursor.phase = phase
            cursor.local.loading = loading

    def next_index(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        index = original(*args, **kwargs)
        remember(SELF.of(args, kwargs), index)
        return index

    workers.observe(recorder)
    wrap_attribute(_Iterator, "__next__", next_)
    wrap_attribute(_Iterator, "_next_index", next_index)


def _remember(iterator: Any, index: Any) -> None:
    """Keep the indices of a batch on its way, under the number that its worker's answer will carry."""
    sent = getattr(iterator, "_send_idx", 0)
    if sent == 0:
        iterator._samerun_sent = {}
    iterator._samerun_sent[sent] = index


def _record_batch(recorder: Recorder, passes: Passes, iterator: Any, data: Any) -> None:
    dataset = iterator._dataset
    if getattr(dataset, "samerun_keyed", False):  # a view: its name is that of what it shows
        dataset = dataset.dataset
    name = type(dataset).__name__
    sent: dict[int, Any] = getattr(iterator, "_samerun_sent", {})
    awaited = getattr(iterator, "_task_info", {})
    for number in [number for number in sent if number not in awaited][:1]:
        _record_indices(recorder, name, sent.pop(number), iterator)
    recorder.watched("batch", walk_tensors(data))
    loader = passes.of(recorder, name, iterator)
    sink = recorder.sink
    flags = EXACT if is_exact(data) else 0
    sink.write(PendingRecord("batch", name, flags=flags, parts=sink.tensors.parts(data), detail=loader))
    for act in recorder.after_batch:
        act()


def _record_indices(recorder: Recorder, name: str, index: Any, iterator: Any) -> None:
    if isinstance(index, HandedIndices):
        index = index.indices
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
    recorder.sink.write(PendingRecord("indices", name, digest=ordered, inputs=unordered, detail=detail))
