"""The states of the RNGs in use, written when they have changed, and what their draws are counted by.

A row "rng" of a generator that can say where it is has the mark of that place as its `inputs`, and as its
`parts`, where nothing is known before it, the whole state. The row "state" of a seeding has the mark of the
place before the seeding, and the whole state after it.
"""

from __future__ import annotations

import torch

from samerun.recording.step_cursor import StepCursor
from samerun.recording.trace.pending_record import PendingRecord
from samerun.recording.trace.sink import TraceSink
from samerun.runs import schema
from samerun.sources.base.rng import Rng
from samerun.sources.catalogue import find_sources
from samerun.sources.source import Source
from samerun.sources.torch_cuda import TorchCuda

_MOST_SEEDINGS = 256  # whose states are written: a script may seed for each sample


class RngStates:
    """Knows what was written last of each RNG."""

    def __init__(self, cursor: StepCursor, sink: TraceSink) -> None:
        self.seedings = 0  # that the script has made, of any RNG
        self._cursor = cursor
        self._sink = sink
        self._sources = {source.id: source for source in find_sources().values() if source.kind == "rng"}
        self._last: dict[str, bytes] = {}
        self._last_within: dict[str, bytes] = {}
        self._before_seeding: dict[str, int | None] = {}  # the marks
        self._model_step = self._loss_step = -1  # the steps whose model and loss were met last

    def write(self, only: str | None = None) -> None:
        """Write the state of each RNG in use (or of the one of this id) that changed since last written."""
        for id_ in self._sources if only is None else (only,):
            source = self._sources.get(id_)
            if source is not None and source.in_play():
                state = source.digest()
                if state is not None and state != self._last.get(id_):
                    record = PendingRecord("rng", id_, digest=state)
                    if (counted := self._as_counted(source)) is not None:
                        record.inputs = counted.mark()
                        record.sample = None if id_ in self._last else _pack(counted)
                    self._last[id_] = self._last_within[id_] = state
                    self._sink.write(record)

    def write_within(self, moment: str, only: str = "") -> None:
        """Write the state of each RNG in use that changed since it was last written, within a step.

        `only` is what the ids of the RNGs begin with.
        """
        for id_, source in self._sources.items():
            if id_.startswith(only) and source.in_play() and not _is_captured(id_):
                self._write_within(source, moment)

    def _write_within(self, source: Source, moment: str) -> None:
        id_, counted = source.id, self._as_counted(source)
        if moment == schema.SEEDING and counted is not None:
            self._before_seeding[id_] = counted.mark()
        state = source.digest()
        if state is not None and state != self._last_within.get(id_):
            self._last_within[id_] = state
            record = PendingRecord("state", id_, digest=state, detail=moment)
            if moment == schema.SEEDED and counted is not None:
                record.inputs, record.sample = self._before_seeding.get(id_), _pack(counted)
            self._sink.write(record)

    def _as_counted(self, source: Source) -> Rng | None:
        """One whose draws are counted; none in a worker, which has generators of its own."""
        return source if isinstance(source, Rng) and not self._cursor.in_worker else None

    def model_called(self) -> None:
        """A module is called with gradients: what was drawn in this step so far made its data."""
        if self._model_step != self._cursor.step:
            self._model_step = self._cursor.step
            self.write_within(schema.MODEL)

    def loss_made(self) -> None:
        """A backward pass begins: what was drawn since was drawn by the model."""
        if self._loss_step != self._cursor.step:
            self._loss_step = self._cursor.step
            self.write_within(schema.LOSS, "torch-")

    def seeds(self, id_: str, moment: str) -> None:
        """The script is about to seed an RNG, or has."""
        if self.seedings < _MOST_SEEDINGS:
            self.write_within(moment, id_)
        self.seedings += moment == schema.SEEDED

    def states(self) -> dict[str, bytes]:
        """The states of the RNGs in use, by source id."""
        found = {id_: source.digest() for id_, source in self._sources.items() if source.in_play()}
        return {id_: state for id_, state in found.items() if state is not None}

    def has_moved(self, id_: str) -> bool | None:
        """Whether an RNG's state is another than was written last; None when it is not in use."""
        source = self._sources.get(id_)
        if source is None or id_ not in self._last or not source.in_play():
            return None
        return source.digest() != self._last[id_]

    def forked(self) -> None:
        """This is a child, which has used no generator so far."""
        self._last = {}
        self._last_within = {}
        self._before_seeding = {}
        self._model_step = self._loss_step = -1
        self.seedings = 0


def _pack(source: Rng) -> bytes | None:
    place = source.locate()
    return None if place is None else place.pack()


def _is_captured(id_: str) -> bool:
    """Whether a graph is being captured on the device of an RNG: its state cannot be read then."""
    return id_ == TorchCuda.id and torch.cuda.is_current_stream_capturing()
