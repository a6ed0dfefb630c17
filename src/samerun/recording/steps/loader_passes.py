"""Which DataLoader a batch came from, in which of its passes over the data: what tells loaders apart."""

from __future__ import annotations

import json
import weakref
from typing import Any, NamedTuple

from torch.utils.data import dataloader

from samerun import callsite
from samerun.recording.recorder import Recorder
from samerun.recording.trace.pending_record import PendingRecord


class _Loader(NamedTuple):
    """A loader, known by what hands out its indices."""

    sampler: weakref.ref[Any]
    number: int


class Passes:
    """Numbers loaders, in the order of their first batch, and the passes of each."""

    def __init__(self) -> None:
        self._loaders: dict[int, _Loader] = {}  # by the id of what hands out its indices
        self._met = 0
        self._passes: dict[int, int] = {}

    def of(self, recorder: Recorder, name: str, iterator: Any) -> str:
        """JSON with the numbers of a batch's loader, of its pass and of the batch in it, from 0, 0 and 1 on.

        A pass that begins is written, with the line that asked for its first batch.
        """
        loader, batch = self._loader(iterator._index_sampler), iterator._num_yielded
        if batch == 1:
            self._passes[loader] = self._passes.get(loader, -1) + 1
            self._begins(recorder, name, loader, iterator)
        return f'{{"loader": {loader}, "pass": {self._passes.get(loader, 0)}, "batch": {batch}}}'

    def _begins(self, recorder: Recorder, name: str, loader: int, iterator: Any) -> None:
        frame = callsite.find_user_frame(2)
        pids = [worker.pid for worker in getattr(iterator, "_workers", ())]
        of = {
            "loader": loader,
            "pass": self._passes[loader],
            "workers": pids,
            "iterable": iterator._dataset_kind == dataloader._DatasetKind.Iterable,
        }
        site = None if frame is None else callsite.call_site(frame)
        recorder.sink.write(PendingRecord("pass", name, call_site=site, detail=json.dumps(of)))

    def _loader(self, sampler: Any) -> int:
        known = self._loaders.get(id(sampler))
        if known is not None and known.sampler() is sampler:
            return known.number
        number, self._met = self._met, self._met + 1
        try:
            self._loaders[id(sampler)] = _Loader(weakref.ref(sampler), number)
        except TypeError:  # a sampler of the script's that takes no weak references: each pass a loader
            pass
        return number
