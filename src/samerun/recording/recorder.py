"""The state of a recording: which step, which phase, and the trace that its rows go to."""

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
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import torch

from samerun import digest
from samerun.recording import process
from samerun.recording.journal import Journal
from samerun.recording.rows import Done, Row, came, went
from samerun.recording.sampling import is_sampled
from samerun.recording.tensors import Slot, Tensors
from samerun.runs import schema
from samerun.runs.complaints import complain
from samerun.runs.plan import Plan
from samerun.runs.trace import TraceWriter
from samerun.sources import _user_code
from samerun.sources.catalogue import catalogue

if TYPE_CHECKING:
    from samerun.recording.watch import Met, Watch

_FLUSH_S = 1.0  # what a kill -9 can lose
_PROGRESS_S = 0.2
# Bytes of the digests of single tensors in one trace; all ranks together have three times as many.
_TENSORS = 128 << 20
_EVIDENCE = frozenset(schema.EVIDENCE)
_clock = time.perf_counter  # taken now: a script (or the clock source) may replace it
_sleep = time.sleep
_no_function_modes = torch._C.DisableTorchFunction
_grad_is_on = torch.is_grad_enabled
_P = ParamSpec("_P")
_R = TypeVar("_R")


class _Local(threading.local):
    """What is true of one thread."""

    def __init__(self) -> None:
        self.paused = False  # the recorder itself computes
        self.loading = False  # a DataLoader with workers is at work: its operations move with their timing
        self.inside = False  # a root module is running: what it does under no_grad is still its forward
        # A thread of the script's that has not trained so far: it saves, evaluates or loads meanwhile, and
        # where the training is says nothing about it.
        self.beside = _is_beside()
        self.phase = "evaluation"  # of such a thread


class Recorder:
    """Writes the records of one process; every hook holds the same one.

    `step` counts the optimizer steps done; `phase` is where the training is. Nothing here raises into the
    training: an error of the recorder's own ends the recording, leaves a note, and the run goes on.
    """

    def __init__(self, plan: Plan, journal: Journal) -> None:
        self.plan = plan
        self.journal = journal
        self.run = Path(plan.run)
        self.tensors = Tensors()
        self.step = 0
        self.local = _Local()
        self._phase = "setup"  # of the threads that train
        self._kinds: set[str] = set()  # the kinds of device whose tensors were digested, as written so far
        self.failed = False
        self.after_setup: list[Callable[[], None]] = []
        self.after_batch: list[Callable[[], None]] = []
        self.after_step: list[Callable[[], None]] = []
        self.site: str | None = None  # the user's line of all that happens now, where one line does it all
        self.watch: Watch | None = None
        self.named: list[Callable[[], Iterable[tuple[str, torch.Tensor]]]] = []  # tensors that have a name
        self._settled = False  # whether step 0's settings were written
        self._writer: TraceWriter | None = None
        self._stem = ""
        self._waiting: list[Row | Done] = []  # for digests, or for a moment when there is time
        self._rng = {source.id: source for source in catalogue().values() if source.kind == "rng"}
        self._rng_last: dict[str, bytes] = {}
        self._loss: float | None = None
        self._flushed = self._progressed = _clock()
        self._tensors_left = _share()
        self._lock = threading.RLock()
        self._raised: str | None = None
        self._worker = False
        self.child = process.is_child()  # whether multiprocessing started this process
        atexit.register(self.finish)
        os.register_at_fork(after_in_child=self._after_fork)
        self._excepthook = sys.excepthook
        sys.excepthook = self._on_exception

    # --- where the training is ---------------------------------------------------------------------

    @property
    def phase(self) -> str:
        """Where this thread is in a step."""
        return self.local.phase if self.local.beside else self._phase

    @phase.setter
    def phase(self, phase: str) -> None:
        if self.local.beside:
            self.local.phase = phase
        else:
            self._phase = phase

    def trains(self) -> None:
        """This thread trains: what it does is a part of the steps, from here on."""
        self.local.beside = False

    def where(self) -> tuple[int, str]:
        """The step and phase of what happens now.

        Evaluation belongs to the step that it follows. Outside root modules, code under no_grad counts as
        evaluation, once training has begun.
        """
        local = self.local
        phase = local.phase if local.beside else self._phase
        if phase == "forward" and not (_grad_is_on() or local.inside):
            phase = "evaluation"
        if phase == "evaluation" or phase == "end":
            return max(self.step - 1, 0), phase
        return self.step, phase

    def begin(self) -> None:
        """The setup is over: a first batch, forward or backward pass."""
        if self.phase == "setup":
            for act in self.after_setup:
                act()
            self.draws()
            self.rng()
            self.phase = "forward"
        if not self._settled and not self.in_worker:
            self._settled = True
            self.settings()

    @property
    def in_worker(self) -> bool:
        """Whether this process is a DataLoader worker, whose records are evidence only."""
        if self.child and not self._worker:  # it becomes one a moment after it was born
            self._worker = process.in_worker()
        return self._worker

    # --- rows --------------------------------------------------------------------------------------

    def row(
        self,
        what: str,
        name: str | None = None,
        *,
        parts: Sequence[bytes | Slot] | None = None,
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
            (step, phase or now, name, module, call_site, parts, tensors, values, flags, detail)
        )
        if self._writer is None and not self.tensors.waiting:  # opening it has the rest written
            with self._lock:
                self._write_waiting()

    def gaps(self, met: Sequence[Met]) -> None:
        """Write the gaps that the next record met."""
        for gap in met:
            self.row(
                "gap",
                gap.place.op,
                module=gap.place.module,
                call_site=gap.place.site,
                digest=gap.digest,
                detail=json.dumps(gap.detail),
                apart=gap.apart,
            )

    def watched(self, what: str, tensors: Iterable[torch.Tensor | None], stepped: str | None = None) -> None:
        """The next record, a `what`, is of these tensors; `stepped`: an optimizer's, which left them so."""
        watch = self.watch
        if watch is None:
            return
        frame = None if self.site else _user_code.user_frame(2)
        site = self.site if frame is None else _user_code.call_site(frame)
        there = [tensor for tensor in tensors if tensor is not None]
        watch.recorded(what, there, site, self.step)
        if stepped is not None:
            watch.stepped(f"{stepped}.step", there, site, self.step)
        self.gaps(watch.take())

    def _write_waiting(self) -> None:
        """Write what waits, now that every digest is here."""
        waiting = self._waiting[:]
        del self._waiting[: len(waiting)]  # the same list: another thread may add to it meanwhile
        for pending in waiting:
            if isinstance(pending, Row):
                self._write(pending)
            elif (writer := self._writer or self._open()) is not None:
                step, phase, name, module, site, parts, tensors, values, flags, detail = pending
                out, into = came(parts), went(tensors, values)
                writer.append(step, phase, "operation", name, module, site, out, into, None, flags, detail)

    def _write(self, pending: Row) -> None:
        if pending.drops():
            return
        row = pending.settled()
        if pending.loss is not None and row.get("digest") is not None:  # one without bytes has no value
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

    def evidence(self, row: dict[str, Any]) -> None:
        """Write one row of evidence from the journal."""
        self.row(**row)
        if self.in_worker and _clock() - self._flushed > _PROGRESS_S:
            self.flush()

    def rng(self, only: str | None = None) -> None:
        """Write the state of each RNG in use (or of the one of this id) that changed since last written."""
        for id_ in self._rng if only is None else (only,):
            source = self._rng.get(id_)
            if source is not None and source.in_play():
                state = source.digest()
                if state is not None and state != self._rng_last.get(id_):
                    self._rng_last[id_] = state
                    self.row("rng", id_, digest=state)

    def draws(self, batch: int | None = None) -> None:
        """Write what was drawn since the last time (in a worker, for its batch of this number)."""
        self.journal.settle()
        if self.journal.draws is not None:
            self.journal.draws.flush(batch)

    def rng_moved(self, id_: str) -> bool | None:
        """Whether an RNG's state is another than was written last; None when it is not in use."""
        source = self._rng.get(id_)
        if source is None or id_ not in self._rng_last or not source.in_play():
            return None
        return source.digest() != self._rng_last[id_]

    def settings(self) -> None:
        """Write what every source in use says of itself now: proof that a setting took effect."""
        for source in catalogue().values():
            if source.in_play() and (said := source.describe()):
                self.row("setting", source.id, detail=json.dumps(said, sort_keys=True, default=str))

    # --- the trace on disk -------------------------------------------------------------------------

    def _open(self) -> TraceWriter | None:
        """Open the trace with the first record that matters, so that helper processes leave none."""
        try:
            self._stem = process.claim(self.run)
        except OSError as error:
            self.fail(error)
            return None
        meta = {
            "schema": schema.SCHEMA,
            "digests": digest.algorithms(),
            "tier": self.plan.tier,
            "stem": self._stem,
            "rank": process.rank(),
            "role": process.role(),
            "pair": f"{process.rank()}|{process.role()}|{process.argv_key()}|{process.ordinal(self._stem)}",
            "world_size": int(os.environ.get("WORLD_SIZE", "1") or 1),
            "argv": sys.orig_argv,
            "python": sys.version.split()[0],
            "torch": torch.__version__,
        }
        self._writer = TraceWriter(self.run / f"{self._stem}.trace.arrow", meta)
        early, self.journal.early = self.journal.early, []
        for row in early:
            self._writer.append(**{"step": 0, "phase": "setup", **row})
        if process.role() and "multiprocessing.util" in sys.modules:
            # a process that multiprocessing forked leaves through os._exit: atexit never runs there
            sys.modules["multiprocessing.util"].Finalize(None, self.finish, exitpriority=-100)
        return self._writer

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

    def end_step(self) -> None:
        """One optimizer step is complete."""
        self.step += 1
        self.phase = "forward"
        self.site = None
        self.draws()
        self.rng()
        for act in self.after_step:
            act()
        now = _clock()
        if now - self._flushed > _FLUSH_S:
            self.flush()
        if now - self._progressed > _PROGRESS_S or self.step == 1:
            self._progressed = now
            self._progress()

    def _progress(self) -> None:
        loss = "nan" if self._loss is None else f"{self._loss:.9g}"
        try:
            path = self.run / f"{self._stem}.progress"
            fd = os.open(path, os.O_CREAT | os.O_WRONLY, 0o644)
            try:
                os.pwrite(fd, f"{self.step:<12d} {loss:<24s}\n".encode(), 0)
            finally:
                os.close(fd)
        except OSError:
            pass  # progress is a courtesy

    def stop_if_due(self) -> None:
        """Before another step begins: end here when the plan says so.

        The process then waits to be ended: it must neither train on nor run the script's own clean-up,
        which could overwrite a checkpoint.
        """
        if self.plan.stop_after is None or self.step <= self.plan.stop_after or not self._stem:
            return
        self.draws()
        self.row("stopped")
        self.close()
        try:
            (self.run / f"{self._stem}.stopped").touch()
        except OSError:
            os._exit(0)
        while True:
            _sleep(3600)

    def finish(self) -> None:
        """The process ends by itself."""
        if self._waiting and not self.failed:  # a short training on a device has written nothing so far
            self.guard(self.flush)()
        if self._writer is None or self.failed:
            return
        self.phase = "end"
        self.local.paused = True
        self.draws()
        if not self.in_worker:
            self.row("end", self._raised or "finished", digest=digest.digest_bytes(str(self.step).encode()))
        self.close()

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
        """Our own error: leave a note and record no more. The training goes on."""
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

    def guard(self, hook: Callable[_P, _R]) -> Callable[_P, _R | None]:
        """The hook, made unable to hurt the training: its own errors end the recording instead."""

        @functools.wraps(hook)
        def guarded(*args: _P.args, **kwargs: _P.kwargs) -> _R | None:
            if self.failed or self.local.paused:
                return None
            self.local.paused = True
            try:
                # A default device is such a mode; it would see each question about a tensor.
                with _no_function_modes():
                    return hook(*args, **kwargs)
            except Exception as error:
                self.fail(error)
                return None
            finally:
                self.local.paused = False

        return guarded

    def _on_exception(self, kind: Any, value: Any, trace: Any) -> None:
        self._raised = f"raised {kind.__name__}"
        self._excepthook(kind, value, trace)

    def _after_fork(self) -> None:
        self._writer = None
        self._stem = ""
        self._waiting = []
        self.tensors = Tensors()
        self._lock = threading.RLock()
        self._rng_last = {}
        self._worker = False
        self.child = True
        self.local.beside = False  # the thread that forked is the child's main one
        self._settled = False
        self._tensors_left = _share()
        self.journal.forget()


def _is_beside() -> bool:
    """Whether this is a thread that the script started; those of torch's own are none of Python's."""
    own = threading.get_ident()
    if own == threading.main_thread().ident:
        return False
    known = next((thread for thread in threading.enumerate() if thread.ident == own), None)
    return known is not None and not isinstance(known, threading._DummyThread)


def _share() -> int | None:
    """What this rank may write of the digests of single tensors, in bytes; None: nothing any more."""
    return min(_TENSORS, 3 * _TENSORS // int(os.environ.get("WORLD_SIZE", "1") or 1))
