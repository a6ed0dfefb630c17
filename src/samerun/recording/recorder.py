"""What is recorded at each step of a training, and when: the hooks call it, and it writes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from samerun import answers, callsite
from samerun.recording.evidence_log import Journal
from samerun.recording.trace.sink import Writing
from samerun.runs import schema
from samerun.runs.plan import Plan
from samerun.sources.catalogue import find_sources
from samerun.sources.torch_cuda import TorchCuda

if TYPE_CHECKING:
    from samerun.recording.ops.external_writes import ExternalWrite, Watch

_FLUSH_S = 1.0  # what a kill -9 can lose
_PROGRESS_S = 0.2
_MOST_SEEDINGS = 256  # whose states are written: a script may seed for each sample
_clock = time.perf_counter  # taken now: a script (or the clock source) may replace it
_sleep = time.sleep


class Recorder(Writing):
    """Records one process; every hook holds the same one."""

    def __init__(self, plan: Plan, journal: Journal) -> None:
        super().__init__(plan, journal)
        self.after_setup: list[Callable[[], None]] = []
        self.after_batch: list[Callable[[], None]] = []
        self.after_step: list[Callable[[], None]] = []
        self.site: str | None = None  # the user's line of all that happens now, where one line does it all
        self.watch: Watch | None = None
        self.named: list[Callable[[], Iterable[tuple[str, torch.Tensor]]]] = []  # tensors that have a name
        self.completes: Callable[[], None] | None = None  # ends a step whose backward pass is over
        self._settled = False  # whether step 0's settings were written
        self._rng = {source.id: source for source in find_sources().values() if source.kind == "rng"}
        self._rng_last: dict[str, bytes] = {}
        self._state_last: dict[str, bytes] = {}
        self._moments: tuple[int, int] = (-1, -1)  # the steps whose model and loss were met last
        self.seedings = 0  # that the script has made, of any RNG
        self._progressed = _clock()

    def begin(self) -> None:
        """A batch, forward or backward pass begins: the setup is over."""
        if self.completes is not None and not self.local.beside:
            self._complete()
        if self.local.closure and self.phase == "optimizer" and torch.is_grad_enabled():
            self.phase = "forward"
        if self.phase == "setup":
            for act in self.after_setup:
                act()
            self.draws()
            self.rng()
            self.phase = "forward"
        if not self._settled and not self.in_worker:
            self._settled = True
            self.ranked()
            self.settings()

    def _complete(self) -> None:
        completes, self.completes = self.completes, None
        if completes is not None:
            completes()

    def finish(self) -> None:
        """The process ends by itself."""
        self.guard(self._complete)()
        super().finish()

    def gaps(self, met: Sequence[ExternalWrite]) -> None:
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
        frame = None if self.site else callsite.find_user_frame(2)
        site = self.site if frame is None else callsite.call_site(frame)
        there = [tensor for tensor in tensors if tensor is not None]
        watch.recorded(what, there, site, self.step)
        if stepped is not None:
            watch.stepped(f"{stepped}.step", there, site, self.step)
        self.gaps(watch.take())

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
                    self._rng_last[id_] = self._state_last[id_] = state
                    self.row("rng", id_, digest=state)

    def state(self, moment: str, only: str = "") -> None:
        """Write the state of each RNG in use that changed since it was last written, within a step.

        `only` is what the ids of the RNGs begin with.
        """
        for id_, source in self._rng.items():
            if id_.startswith(only) and source.in_play() and not _is_captured(id_):
                state = source.digest()
                if state is not None and state != self._state_last.get(id_):
                    self._state_last[id_] = state
                    self.row("state", id_, digest=state, detail=moment)

    def model_called(self) -> None:
        """A module is called with gradients: what was drawn in this step so far made its data."""
        if self._moments[0] != self.step:
            self._moments = self.step, self._moments[1]
            self.state(schema.MODEL)

    def loss_made(self) -> None:
        """A backward pass begins: what was drawn since was drawn by the model."""
        if self._moments[1] != self.step:
            self._moments = self._moments[0], self.step
            self.state(schema.LOSS, "torch-")

    def seeds(self, id_: str, moment: str) -> None:
        """The script is about to seed an RNG, or has."""
        if self.seedings < _MOST_SEEDINGS:
            self.state(moment, id_)
        self.seedings += moment == schema.SEEDED

    def states(self) -> dict[str, bytes]:
        """The states of the RNGs in use, by source id."""
        found = {id_: source.digest() for id_, source in self._rng.items() if source.in_play()}
        return {id_: state for id_, state in found.items() if state is not None}

    def rng_moved(self, id_: str) -> bool | None:
        """Whether an RNG's state is another than was written last; None when it is not in use."""
        source = self._rng.get(id_)
        if source is None or id_ not in self._rng_last or not source.in_play():
            return None
        return source.digest() != self._rng_last[id_]

    def settings(self) -> None:
        """Write what every source in use says of itself now: proof that a setting took effect."""
        for source in find_sources().values():
            if source.in_play() and (said := source.describe()):
                self.row("setting", source.id, detail=json.dumps(said, sort_keys=True, default=str))

    def end_step(self) -> None:
        """One optimizer step is complete."""
        self.step += 1
        self.phase = "forward"
        self.began = False
        self.site = None
        self.draws()
        self.rng()
        for act in self.after_step:
            act()
        self.ranked()
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
        answers.flush_all()
        try:
            (self.run / f"{self._stem}.stopped").touch()
        except OSError:
            os._exit(0)
        while True:
            _sleep(3600)

    def forked(self) -> None:
        """This is a child, which has used no generator so far."""
        super().forked()
        self.completes = None
        self._rng_last = {}
        self._state_last = {}
        self._moments = -1, -1
        self.seedings = 0
        self._settled = False


def _is_captured(id_: str) -> bool:
    """Whether a graph is being captured on the device of an RNG: its state cannot be read then."""
    return id_ == TorchCuda.id and torch.cuda.is_current_stream_capturing()
