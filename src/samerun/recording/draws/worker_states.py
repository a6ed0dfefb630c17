"""What the generators of a DataLoader worker began with: workers that begin alike draw alike.

A row "state" of a worker is of one generator that the making of a batch drew from: its digest is the state
before, `inputs` 64 bits over the state after, `drawn` whether nothing but draws lies between them. One row a
generator, of the first such batch of a few.
"""

from __future__ import annotations

import json
import os
from typing import Any

from samerun import digest
from samerun.ranks import rank
from samerun.recording import process_identity
from samerun.recording.draws.dataset_generators import DatasetGenerator, State, find
from samerun.recording.recorder import Recorder
from samerun.recording.trace.pending_record import PendingRecord

_BATCHES = 4  # of a worker that are looked at
_MOST_WORKERS = 8  # with the same number and of the same rank, one after the other, that leave such rows


class FirstBatches:
    """Follows the first batches of one worker."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._pid = 0
        self._batches = 0
        self._reported: set[str] = set()
        self._own: list[DatasetGenerator] = []
        self._before: dict[str, State] = {}
        self._seedings: int = 0

    def begins(self, dataset: Any) -> None:
        """A batch is about to be made."""
        if self._pid != os.getpid():  # a worker has begun
            self._pid, self._batches, self._reported = os.getpid(), 0, set()
            if self._is_late():
                self._batches = _BATCHES
            self._own = find(dataset) if self._batches < _BATCHES else []
        if self._batches < _BATCHES:
            self._before = self._seen()
            self._seedings = self._recorder.rngs.seedings

    def made(self, indices: Any) -> None:
        """The batch of these samples is made."""
        if self._batches >= _BATCHES:
            return
        self._batches += 1
        where = {own.name: own.where for own in self._own}
        for name, after in self._seen().items():
            before = self._before.get(name)
            if before is None or before.digest == after.digest or name in self._reported:
                continue
            self._reported.add(name)
            seeded = self._recorder.rngs.seedings != self._seedings
            of = {
                "pid": self._pid,
                "indices": digest.digest_value(indices).hex(),
                "drawn": before.leads_to(after) if name in where else not seeded,
                "where": where.get(name),
            }
            self._recorder.sink.write(
                PendingRecord(
                    "state",
                    name,
                    digest=before.digest,
                    inputs=int.from_bytes(after.digest[:8], "little"),
                    detail=json.dumps(of),
                )
            )

    def _seen(self) -> dict[str, State]:
        found = {id_: State(state) for id_, state in self._recorder.rngs.states().items()}
        return found | {own.name: own.state() for own in self._own}

    def _is_late(self) -> bool:
        """Whether workers of this number have left such rows often enough: each leaves a file."""
        stem = f"rank{rank()}.{process_identity.find_role()}.{_MOST_WORKERS}"
        return (self._recorder.sink.run / f"{stem}.trace.arrow").exists()
