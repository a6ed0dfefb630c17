"""The trace of one process: records wait until their digests are there, and go to the disk in their order."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from samerun import digest, lineage, real_clock, set_variables
from samerun.digest.unobserved import hide_from_python
from samerun.interruption import is_the_scripts
from samerun.ranks import identity as ranks
from samerun.recording import helper_process, process_identity
from samerun.recording.evidence_log import Journal
from samerun.recording.step_cursor import StepCursor
from samerun.recording.trace.pending_record import PendingRecord
from samerun.recording.trace.sampled_steps import is_sampled
from samerun.recording.trace.tensor_digests import Tensors
from samerun.runs import rests, schema
from samerun.runs.plan import Plan
from samerun.runs.record import Record
from samerun.runs.recorder_errors import complain
from samerun.runs.trace import TraceWriter

if TYPE_CHECKING:
    from samerun.recording.trace.pending_operation import PendingOperation

# Bytes of the digests of single tensors in one trace; all ranks together have three times as many.
_TENSORS = 128 << 20
_EVIDENCE = frozenset(schema.EVIDENCE)
_WORKER_FLUSH_S = 0.2  # what a DataLoader worker that is killed can lose


class TraceSink:
    """Writes what happens at each moment, as the cursor says it.

    Nothing of ours raises into the training: an error ends the recording, leaves a note, and the run goes on.
    """

    def __init__(self, plan: Plan, cursor: StepCursor, journal: Journal, finish: Callable[[], None]) -> None:
        """Where the process leaves without telling atexit, `finish` is called as it ends."""
        self.run = Path(plan.run)
        self.tensors = Tensors()
        self.failed = False
        self.flushed = real_clock.read_s()
        self.stem = ""  # of the trace; "" until it is open
        self.loss: float | None = None  # the last one written
        self._plan = plan
        self._cursor = cursor
        self._journal = journal
        self.finish = finish
        self._kinds: set[str] = set()  # the kinds of device whose tensors were digested, as written so far
        self._writer: TraceWriter | None = None
        # For digests, or for a moment when there is time.
        self._waiting: list[Record | PendingRecord | PendingOperation] = []
        self._tensors_left: int | None = None
        self._rank = 0, 1  # which of how many, as the trace says it
        self._lock = threading.RLock()
        self._rests = False

    @property
    def is_open(self) -> bool:
        """Whether there is a trace on disk."""
        return self._writer is not None

    @property
    def holds_records(self) -> bool:
        """Whether there are records that wait."""
        return bool(self._waiting)

    def write(self, record: PendingRecord) -> None:
        """Write one record, once its digests are there."""
        cursor = self._cursor
        if self.failed or (cursor.in_worker and record.what not in _EVIDENCE):
            return
        step, phase = cursor.where()
        record.step = step if record.step is None else record.step
        record.phase = record.phase or phase
        if cursor.local.beside and record.what not in _EVIDENCE:
            record.flags = schema.BESIDE
        self._write_in_turn(record)

    def write_evidence(self, record: Record) -> None:
        """Write one record of evidence from the journal."""
        if not self.failed:
            self._write_in_turn(record)
        if self._cursor.in_worker and real_clock.read_s() - self.flushed > _WORKER_FLUSH_S:
            self.flush()

    def _write_in_turn(self, record: Record | PendingRecord) -> None:
        with self._lock:
            if self._rests and self._cursor.phase != "end":  # a thread of the task's goes on
                self.go_on()  # at the end the mark stays until that is on disk: a pool may kill it there
            if not self.tensors.waiting and self._cursor.prepared:
                self._write_waiting()
                self._write(record)
            else:
                self._waiting.append(record)

    def write_operation(self, operation: PendingOperation) -> None:
        """Write one operation, not of a worker; the least that can be done now, between cold caches."""
        self._waiting.append(operation)
        opens = self._writer is None and self._cursor.prepared
        if opens and not self.tensors.waiting:  # opening it has the rest written
            with self._lock:
                self._write_waiting()
        if self._journal.on_event is not None:
            draws = operation.flags & schema.DRAWS
            self._journal.count_event("operation", operation.call_site if draws else None)

    def _write_waiting(self) -> None:
        """Write what waits, now that every digest is here."""
        if not self._cursor.prepared and self._cursor.phase != "end":
            return
        waiting = self._waiting[:]
        del self._waiting[: len(waiting)]  # the same list: another thread may add to it meanwhile
        if self._writer is None and self._cursor.child and process_identity.becomes_worker():
            # It imported the script to be one, and got its data set: none of that is of the training.
            waiting = [each for each in waiting if _is_evidence(each)]
        written = 0
        try:
            for pending in waiting:
                if isinstance(pending, (Record, PendingRecord)):
                    self._write(pending)
                elif (writer := self._writer or self._open()) is not None:
                    writer.append(pending.settle())
                written += 1
        finally:
            if written < len(waiting):  # a handler of the script's has raised: that must lose nothing
                self._waiting[:0] = waiting[written:]

    def _write(self, pending: Record | PendingRecord) -> None:
        if isinstance(pending, Record):
            record = pending
        elif pending.drops():
            return
        else:
            value = None
            if pending.loss is not None:
                with hide_from_python():
                    value = self.loss = float(pending.loss)
            record = pending.settle(value)
        if self._writer is None and record.what in _EVIDENCE and not self._cursor.in_worker:
            self._journal.keep(record)  # only a record that matters opens a trace
            return
        writer = self._writer or self._open()
        if writer is None:
            return
        keeps = isinstance(pending, PendingRecord) and pending.keep_parts
        if keeps and not self._keeps(record.step, len(record.parts or b"")):
            record.parts = None
        writer.append(record)

    def _keeps(self, step: int, nbytes: int) -> bool:
        """Whether the digests of a group's single tensors are written, beside that of the group.

        They name the first tensor that differs, and are most of a long trace. When their share is used up,
        they are written in a window, and now and then.
        """
        if self._tensors_left is None:
            first, last = self._plan.window or (1, 0)
            return first <= step <= last or is_sampled(step)
        self._tensors_left -= nbytes
        if self._tensors_left < 0:
            self._tensors_left = None
            detail = f"from step {step} on, the digests of single tensors are written now and then only"
            self.write(PendingRecord("note", "tensors", detail=detail))
        return True

    # --- the trace on disk -------------------------------------------------------------------------

    def _open(self) -> TraceWriter | None:
        """Open the trace with the first record that matters, so that helper processes leave none."""
        self._rank = ranks.rank(), ranks.world_size()
        self._tensors_left = _share(self._rank[1])
        try:
            self.stem = process_identity.claim(self.run)
        except OSError as error:
            self.fail(error)
            return None
        meta = {
            "schema": schema.SCHEMA,
            "digests": digest.algorithms(),
            "tier": self._plan.tier,
            "stem": self.stem,
            "rank": self._rank[0],
            "role": process_identity.find_role(),
            "pair": process_identity.pair(
                self._rank[0], self.stem, process_identity.find_role(), process_identity.digest_argv()
            ),
            "world_size": self._rank[1],
            "place": lineage.get_place(),
            "argv": process_identity.read_argv(),
            "variables": set_variables.get_set(),
            "python": sys.version.split()[0],
            "torch": torch.__version__,
        }
        self._writer = TraceWriter(self.run / f"{self.stem}.trace.arrow", meta)
        helper_process.withdraw(self._journal)
        early, self._journal.early = self._journal.early, []
        for record in early:
            self._writer.append(record)
        if process_identity.find_role() and "multiprocessing.util" in sys.modules:
            # a process that multiprocessing forked leaves through os._exit: atexit never runs there
            sys.modules["multiprocessing.util"].Finalize(None, self.finish, exitpriority=-100)
        return self._writer

    def write_rank(self) -> None:
        """Write which rank this is, where it has learnt so since its trace was opened."""
        if self._writer is None or not ranks.has_group():
            return
        here = ranks.rank(), ranks.world_size()
        if here != self._rank:
            self._rank = here
            detail = json.dumps({"rank": here[0], "world_size": here[1]})
            self.write(PendingRecord("note", "rank", detail=detail))

    def flush(self) -> None:
        """Hand everything to the operating system; waits for the devices."""
        with self._lock:
            for kind in sorted(self.tensors.kinds - self._kinds):
                self._kinds.add(kind)
                algorithm = digest.algorithms().get(kind, digest.DEVICE_ALGORITHM)
                self.write(PendingRecord("note", "digests", detail=f"{kind}: {algorithm}"))
            self.tensors.settle()
            self._write_waiting()
            if self._writer is not None:
                self._writer.flush()
                self._check_disk(self._writer)
            self.flushed = real_clock.read_s()

    def rest(self) -> None:
        """The process has nothing to do: it may be ended at any moment, and loses nothing by it."""
        self.flush()
        if self._writer is not None and not self.failed:
            rests.mark(self._writer.path)
            self._rests = True

    def go_on(self) -> None:
        """It has something to do."""
        if self._writer is not None and self._rests:
            rests.unmark(self._writer.path)
        self._rests = False

    def is_paused(self) -> bool:
        """Whether the recorder itself is at work in this thread."""
        return self._cursor.local.paused

    @contextlib.contextmanager
    def pausing(self) -> Iterator[None]:
        """Nothing that this thread does meanwhile is recorded."""
        local = self._cursor.local
        before, local.paused = local.paused, True
        try:
            yield
        finally:
            local.paused = before

    def where(self) -> tuple[int, str]:
        """The step and phase of what happens now."""
        return self._cursor.where()

    def close(self) -> None:
        """Write what is left and the end of the stream."""
        try:
            self.flush()
            if self._writer is not None:
                self._writer.close()
                self._check_disk(self._writer)
                self.go_on()
        except Exception as error:
            self.fail(error)
        self.failed = True

    def _check_disk(self, writer: TraceWriter) -> None:
        if writer.failed is not None:
            self.fail(OSError(f"the trace cannot be written ({writer.failed})"))

    def fail(self, error: BaseException) -> None:
        """Our own error: leave a note and record no more. The training goes on.

        Raises the error again where it is the script's.
        """
        if is_the_scripts(error):
            raise error
        if self.failed:
            return
        self.failed = True
        text = "".join(traceback.format_exception(error))
        step, phase = self._cursor.where()
        complain(
            self.run,
            f"the recording of {self.stem or 'a process'} broke off at step {step} ({phase}): "
            f"{type(error).__name__}: {error}",
            broken=not self._cursor.in_worker,  # what a DataLoader worker does is known by its batches
            traceback=text,
        )
        try:
            if self._writer is not None:
                with contextlib.suppress(Exception):  # the error may lie in what waits
                    self._write_waiting()
                self._writer.append(Record(step, phase, "note", "recorder-error", detail=text))
                self._writer.flush()
        except Exception:
            pass

    def forked(self) -> None:
        """This is a child, which has a trace of its own."""
        self._writer = None
        self.stem = ""
        self._waiting = []
        self.tensors = Tensors()
        self._lock = threading.RLock()
        self._rests = False


def _is_evidence(pending: Record | PendingRecord | PendingOperation) -> bool:
    return isinstance(pending, (Record, PendingRecord)) and pending.what in _EVIDENCE


def _share(world_size: int) -> int | None:
    """What each rank may write of the digests of single tensors, in bytes; None: nothing any more."""
    return min(_TENSORS, 3 * _TENSORS // world_size)
