"""The trace of one process: records wait until their digests are there, and go to the disk in their order."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import torch

from samerun import digest, wrapping
from samerun.digest.unobserved import hide_from_python
from samerun.interruption import is_the_scripts
from samerun.ranks import identity as ranks
from samerun.recording import process_identity
from samerun.recording.evidence_log import Journal
from samerun.recording.step_cursor import Moment
from samerun.recording.trace.pending_record import Done, Row, digest_inputs, digest_outputs, pack_parts
from samerun.recording.trace.sampled_steps import is_sampled
from samerun.recording.trace.tensor_digests import Slot, Tensors
from samerun.runs import schema
from samerun.runs.plan import Plan
from samerun.runs.recorder_errors import complain
from samerun.runs.secrets_in_text import hide_secrets
from samerun.runs.trace import TraceWriter

# Bytes of the digests of single tensors in one trace; all ranks together have three times as many.
_TENSORS = 128 << 20
_EVIDENCE = frozenset(schema.EVIDENCE)
_clock = time.perf_counter  # taken now: a script (or the clock source) may replace it
_no_function_modes = torch._C.DisableTorchFunction
_P = ParamSpec("_P")
_R = TypeVar("_R")


class Writing(Moment):
    """Writes what happens at each moment.

    Nothing of ours raises into the training: an error ends the recording, leaves a note, and the run goes on.
    """

    def __init__(self, plan: Plan, journal: Journal) -> None:
        super().__init__()
        self.plan = plan
        self.journal = journal
        self.run = Path(plan.run)
        self.tensors = Tensors()
        self.failed = False
        self._kinds: set[str] = set()  # the kinds of device whose tensors were digested, as written so far
        self._writer: TraceWriter | None = None
        self._stem = ""
        self._waiting: list[Row | Done] = []  # for digests, or for a moment when there is time
        self._loss: float | None = None
        self._flushed = _clock()
        self._tensors_left: int | None = None
        self._rank = 0, 1  # which of how many, as the trace says it
        self._lock = threading.RLock()
        self._raised: str | None = None
        atexit.register(self.finish)
        os.register_at_fork(after_in_child=self.forked)
        wrapping.wrap_attribute(sys, "excepthook", self._on_exception)

    def row(
        self,
        what: str,
        name: str | None = None,
        *,
        parts: bytes | Sequence[bytes | Slot] | None = None,
        keep_parts: bool = False,
        loss: torch.Tensor | None = None,
        step: int | None = None,
        phase: str | None = None,
        apart: tuple[bytes | Slot, bytes | Slot] | None = None,
        sample: bytes | None = None,
        **columns: Any,
    ) -> None:
        """Write one record; its digest is that of its parts (kept one by one with `keep_parts`).

        `loss` is a tensor of one element, for people. A record of two digests that are to be `apart` is
        dropped when they turn out equal. A `sample` is kept.
        """
        if self.failed or (self.in_worker and what not in _EVIDENCE):
            return
        at, now = self.where()
        columns.update(step=at if step is None else step, phase=phase or now, what=what, name=name)
        if sample is not None:
            columns["parts"] = sample
        if self.local.beside and what not in _EVIDENCE:
            columns["flags"] = schema.BESIDE
        row = Row(columns, parts, keep_parts, loss, apart)
        with self._lock:
            if not self.tensors.waiting:
                self._write_waiting()
                self._write(row)
            else:
                self._waiting.append(row)

    def operation(
        self,
        name: str,
        phase: str | None,
        module: str | None,
        call_site: str | None,
        parts: Sequence[bytes | Slot],
        tensors: Sequence[bytes | Slot],
        values: Sequence[Any],
        flags: int,
        detail: str | None = None,
    ) -> None:
        """Write one operation; the least that can be done now, since this runs between cold caches."""
        if self.child and self.in_worker:
            return
        step, now = self.where()
        self._waiting.append(
            (
                step,
                phase or now,
                name,
                module,
                call_site,
                pack_parts(parts),
                pack_parts(tensors),
                values or (),
                flags,
                detail,
            )
        )
        if self._writer is None and not self.tensors.waiting:  # opening it has the rest written
            with self._lock:
                self._write_waiting()

    def _write_waiting(self) -> None:
        """Write what waits, now that every digest is here."""
        waiting = self._waiting[:]
        del self._waiting[: len(waiting)]  # the same list: another thread may add to it meanwhile
        written = 0
        try:
            for pending in waiting:
                if isinstance(pending, Row):
                    self._write(pending)
                elif (writer := self._writer or self._open()) is not None:
                    step, phase, name, module, site, parts, tensors, values, flags, detail = pending
                    out, into = digest_outputs(parts), digest_inputs(tensors, values)
                    writer.append(
                        step, phase, "operation", name, module, site, out, into, None, flags, detail
                    )
                written += 1
        finally:
            if written < len(waiting):  # a handler of the script's has raised: that must lose nothing
                self._waiting[:0] = waiting[written:]

    def _write(self, pending: Row) -> None:
        if pending.drops():
            return
        row = pending.settled()
        if pending.loss is not None:
            with hide_from_python():
                row["value"] = self._loss = float(pending.loss)
        if self._writer is None and row["what"] in _EVIDENCE and not self.in_worker:
            self.journal.early.append(row)  # only a record that matters opens a trace
            return
        writer = self._writer or self._open()
        if writer is None:
            return
        if pending.keep_parts and not self._keeps(row["step"], len(row["parts"])):
            del row["parts"]
        writer.append(**row)

    def _keeps(self, step: int, nbytes: int) -> bool:
        """Whether the digests of a group's single tensors are written, beside that of the group.

        They name the first tensor that differs, and are most of a long trace. When their share is used up,
        they are written in a window, and now and then.
        """
        if self._tensors_left is None:
            first, last = self.plan.window or (1, 0)
            return first <= step <= last or is_sampled(step)
        self._tensors_left -= nbytes
        if self._tensors_left < 0:
            self._tensors_left = None
            told = f"from step {step} on, the digests of single tensors are written now and then only"
            self.row("note", "tensors", detail=told)
        return True

    def draws(self, batch: int | None = None) -> None:
        """Write what was drawn since the last time (in a worker, for its batch of this number)."""
        self.journal.settle()
        if self.journal.draws is not None:
            self.journal.draws.flush(batch)

    # --- the trace on disk -------------------------------------------------------------------------

    def _open(self) -> TraceWriter | None:
        """Open the trace with the first record that matters, so that helper processes leave none."""
        self._rank = ranks.rank(), ranks.world_size()
        self._tensors_left = _share(self._rank[1])
        try:
            self._stem = process_identity.claim(self.run)
        except OSError as error:
            self.fail(error)
            return None
        meta = {
            "schema": schema.SCHEMA,
            "digests": digest.algorithms(),
            "tier": self.plan.tier,
            "stem": self._stem,
            "rank": self._rank[0],
            "role": process_identity.find_role(),
            "pair": process_identity.pair(
                self._rank[0], self._stem, process_identity.find_role(), process_identity.digest_argv()
            ),
            "world_size": self._rank[1],
            "argv": hide_secrets(sys.orig_argv),
            "python": sys.version.split()[0],
            "torch": torch.__version__,
        }
        self._writer = TraceWriter(self.run / f"{self._stem}.trace.arrow", meta)
        early, self.journal.early = self.journal.early, []
        for row in early:
            self._writer.append(**{"step": 0, "phase": "setup", **row})
        if process_identity.find_role() and "multiprocessing.util" in sys.modules:
            # a process that multiprocessing forked leaves through os._exit: atexit never runs there
            sys.modules["multiprocessing.util"].Finalize(None, self.finish, exitpriority=-100)
        return self._writer

    def ranked(self) -> None:
        """Write which rank this is, where it has learnt so since its trace was opened."""
        if self._writer is None or not ranks.has_group():
            return
        here = ranks.rank(), ranks.world_size()
        if here != self._rank:
            self._rank = here
            self.row("note", "rank", detail=json.dumps({"rank": here[0], "world_size": here[1]}))

    def flush(self) -> None:
        """Hand everything to the operating system; waits for the devices."""
        with self._lock:
            for kind in sorted(self.tensors.kinds - self._kinds):
                self._kinds.add(kind)
                algorithm = digest.algorithms().get(kind, digest.DEVICE_ALGORITHM)
                self.row("note", "digests", detail=f"{kind}: {algorithm}")
            self.tensors.settle()
            self._write_waiting()
            if self._writer is not None:
                self._writer.flush()
                self._check_disk(self._writer)
            self._flushed = _clock()

    def close(self) -> None:
        """Write what is left and the end of the stream."""
        try:
            self.flush()
            if self._writer is not None:
                self._writer.close()
                self._check_disk(self._writer)
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
        step, phase = self.where()
        complain(
            self.run,
            f"the recording of {self._stem or 'a process'} broke off at step {step} ({phase}): "
            f"{type(error).__name__}: {error}",
            broken=not self.in_worker,  # what a DataLoader worker does is known by its batches
            traceback=text,
        )
        try:
            if self._writer is not None:
                with contextlib.suppress(Exception):  # the error may lie in what waits
                    self._write_waiting()
                self._writer.append(step, phase, "note", "recorder-error", detail=text)
                self._writer.flush()
        except Exception:
            pass

    def finish(self) -> None:
        """The process ends by itself."""
        if self._waiting and not self.failed:  # a short training on a device has written nothing so far
            self.guard(self.flush)()
        if self._writer is None or self.failed:
            return
        self.phase = "end"
        self.local.paused = True
        self.draws()
        self.ranked()
        if not self.in_worker:
            self.row("end", self._raised or "finished", digest=digest.digest_bytes(str(self.step).encode()))
        self.close()

    def guard(self, hook: Callable[_P, _R]) -> Callable[_P, _R | None]:
        """The hook, made unable to hurt the training: its own errors end the recording instead."""

        @functools.wraps(hook)
        def guarded(*args: _P.args, **kwargs: _P.kwargs) -> _R | None:
            if self.failed or self.local.paused:
                return None
            self.local.paused = True
            try:
                # A default device is such a mode; it would see each question about a tensor. So would a
                # dispatch mode of the script's, and a transform of torch.func, each operation.
                with _no_function_modes(), hide_from_python():
                    return hook(*args, **kwargs)
            except Exception as error:
                self.fail(error)
                return None
            finally:
                self.local.paused = False

        return guarded

    def _on_exception(
        self, original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if args and isinstance(args[0], type):
            self._raised = f"raised {args[0].__name__}"
        return original(*args, **kwargs)

    def forked(self) -> None:
        """This is a child, which has a trace of its own."""
        super().forked()
        self._writer = None
        self._stem = ""
        self._waiting = []
        self.tensors = Tensors()
        self._lock = threading.RLock()
        self.journal.forget()


def _share(world_size: int) -> int | None:
    """What each rank may write of the digests of single tensors, in bytes; None: nothing any more."""
    return min(_TENSORS, 3 * _TENSORS // world_size)
