"""What is recorded at each step of a training, and when: the hooks call it, and it writes."""

from __future__ import annotations

import atexit
import functools
import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import torch

from samerun import answers, callsite, digest, real_clock
from samerun.digest.unobserved import hide_from_python
from samerun.interruption import ended_by
from samerun.recording.evidence_log import Journal
from samerun.recording.rng_states import RngStates
from samerun.recording.step_cursor import StepCursor
from samerun.recording.trace.pending_record import PendingRecord
from samerun.recording.trace.sink import TraceSink
from samerun.runs.plan import Plan
from samerun.sources.catalogue import find_sources

if TYPE_CHECKING:
    from samerun.recording.ops.external_writes import ExternalWrite, Watch

_FLUSH_S = 1.0  # what a kill -9 can lose
_PROGRESS_S = 0.2
_sleep = time.sleep
_no_function_modes = torch._C.DisableTorchFunction
SEVERAL = -1  # no thread's identity
_P = ParamSpec("_P")
_R = TypeVar("_R")


class Recorder:
    """Records one process; every hook holds the same one, and asks the part that it means."""

    def __init__(self, plan: Plan, journal: Journal) -> None:
        self.plan = plan
        self.journal = journal
        self.cursor = StepCursor()
        self.sink = TraceSink(plan, self.cursor, journal, self.finish)
        self.rngs = RngStates(self.cursor, self.sink)
        self.after_setup: list[Callable[[], None]] = []
        self.after_batch: list[Callable[[], None]] = []
        self.after_step: list[Callable[[], None]] = []
        self.watch: Watch | None = None
        self.named: list[Callable[[], Iterable[tuple[str, torch.Tensor]]]] = []  # tensors that have a name
        self.trainer: int | None = None  # the thread that trains; SEVERAL where more than one does
        self.completes: Callable[[], None] | None = None  # ends a step whose backward pass is over
        self._settled = False  # whether step 0's settings were written
        self._born = -1  # the step in which this process was forked
        self._progressed = real_clock.read_s()
        atexit.register(self.finish)
        os.register_at_fork(after_in_child=self.forked)

    def guard(self, hook: Callable[_P, _R]) -> Callable[_P, _R | None]:
        """The hook, made unable to hurt the training: its own errors end the recording instead."""
        sink, local = self.sink, self.cursor.local

        @functools.wraps(hook)
        def guarded(*args: _P.args, **kwargs: _P.kwargs) -> _R | None:
            if sink.failed or local.paused:
                return None
            local.paused = True
            try:
                # A default device is such a mode; it would see each question about a tensor. So would a
                # dispatch mode of the script's, and a transform of torch.func, each operation.
                with _no_function_modes(), hide_from_python():
                    return hook(*args, **kwargs)
            except Exception as error:
                sink.fail(error)
                return None
            finally:
                local.paused = False

        return guarded

    def begin(self) -> None:
        """A batch, forward or backward pass begins: the setup is over."""
        cursor = self.cursor
        if self.completes is not None and not cursor.local.beside:
            self._complete()
        if cursor.local.closure and cursor.phase == "optimizer" and torch.is_grad_enabled():
            cursor.phase = "forward"
        if cursor.phase == "setup":
            for act in self.after_setup:
                act()
            self.journal.write_draws()
            self.rngs.write()
            cursor.phase = "forward"
        if not self._settled and not cursor.in_worker:
            self._settled = True
            self.sink.write_rank()
            self.settings()

    def trains(self, thread: int) -> bool:
        """A thread trains; whether it is one more than before, and not the first."""
        if self.trainer in (None, thread):
            self.trainer = thread
            return False
        self.trainer = SEVERAL
        if self.watch is not None:
            self.watch.leave_alone()
        return True

    def _complete(self) -> None:
        completes, self.completes = self.completes, None
        if completes is not None:
            completes()

    def finish(self) -> None:
        """The process ends by itself."""
        self.guard(self._complete)()
        sink, cursor = self.sink, self.cursor
        if sink.holds_records and not sink.failed:  # a short training on a device has written nothing so far
            self.guard(sink.flush)()
        if not sink.is_open or sink.failed:
            return
        if not self._settled and not cursor.in_worker:  # no step began: a run that found its work done
            self._settled = True
            self.guard(self.settings)()
        cursor.phase = "end"
        cursor.local.paused = True
        self.journal.write_draws()
        sink.write_rank()
        if not cursor.in_worker:
            steps = digest.digest_bytes(str(cursor.step).encode())
            raised = ended_by()
            end = "finished" if raised is None else f"raised {raised.__name__}"
            sink.write(PendingRecord("end", end, digest=steps))
        sink.close()

    def rest(self) -> None:
        """The process has nothing to do for now, and may be ended."""
        self.journal.write_draws()
        self.sink.write_rank()
        self.sink.rest()
        answers.flush_all()

    def gaps(self, met: Sequence[ExternalWrite]) -> None:
        """Write the gaps that the next record met."""
        for gap in met:
            self.sink.write(
                PendingRecord(
                    "gap",
                    gap.place.op,
                    module=gap.place.module,
                    call_site=gap.place.site,
                    digest=gap.digest,
                    detail=json.dumps(gap.detail),
                    apart=gap.apart,
                )
            )

    def watched(self, what: str, tensors: Iterable[torch.Tensor | None], stepped: str | None = None) -> None:
        """The next record, a `what`, is of these tensors; `stepped`: an optimizer's, which left them so."""
        watch = self.watch
        if watch is None:
            return
        cursor = self.cursor
        frame = None if cursor.site else callsite.find_user_frame(2)
        site = cursor.site if frame is None else callsite.call_site(frame)
        there = [tensor for tensor in tensors if tensor is not None]
        watch.recorded(what, there, site, cursor.step)
        if stepped is not None:
            watch.stepped(f"{stepped}.step", there, site, cursor.step)
        self.gaps(watch.take())

    def settings(self) -> None:
        """Write what every source in use says of itself now: proof that a setting took effect."""
        for source in find_sources().values():
            if source.in_play() and (described := source.describe()):
                detail = json.dumps(described, sort_keys=True, default=str)
                self.sink.write(PendingRecord("setting", source.id, detail=detail))

    def end_step(self) -> None:
        """One optimizer step is complete."""
        cursor = self.cursor
        cursor.step += 1
        cursor.phase = "forward"
        cursor.began = False
        cursor.site = None
        self.journal.write_draws()
        self.rngs.write()
        for act in self.after_step:
            act()
        self.sink.write_rank()
        now = real_clock.read_s()
        if now - self.sink.flushed > _FLUSH_S:
            self.sink.flush()
        if now - self._progressed > _PROGRESS_S or cursor.step == 1:
            self._progressed = now
            self._progress()

    def _progress(self) -> None:
        sink, step = self.sink, self.cursor.step
        loss = "nan" if sink.loss is None else f"{sink.loss:.9g}"
        try:
            path = sink.run / f"{sink.stem}.progress"
            fd = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
            try:
                os.pwrite(fd, f"{step:<12d} {loss:<24s}\n".encode(), 0)
            finally:
                os.close(fd)
        except OSError:
            pass  # progress is a courtesy

    def stop_if_due(self) -> None:
        """Before another step begins: end here when the plan says so.

        The process then waits to be ended: it must neither train on nor run the script's own clean-up,
        which could overwrite a checkpoint. One that was forked later, such as a DataLoader's worker, goes on:
        the process that trains waits for what it makes, and ends first.
        """
        last, sink, cursor = self.plan.stop_after, self.sink, self.cursor
        if last is None or cursor.step <= max(last, self._born) or not sink.stem or cursor.in_worker:
            return
        self.journal.write_draws()
        sink.write(PendingRecord("stopped"))
        sink.close()
        answers.flush_all()
        try:
            (sink.run / f"{sink.stem}.stopped").touch()
        except OSError:
            os._exit(0)
        while True:
            _sleep(3600)

    def forked(self) -> None:
        """This is a child, which has a trace of its own."""
        self.cursor.forked()
        self._born = self.cursor.step
        self.sink.forked()
        self.rngs.forked()
        self.completes = None
        self._settled = False
