"""Records the runs of one command, all of them the same way, and compares them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from samerun.comparing.compare_runs import compare_all, find_earliest
from samerun.comparing.comparison import Comparison, Scope
from samerun.experiments import run_outcome
from samerun.experiments.living import Losses, require_living
from samerun.experiments.progress import Listener
from samerun.experiments.request import Request
from samerun.launching.run import record
from samerun.launching.working_copy import make_scratch_copy
from samerun.runs.plan import Control, Probe, Replay, Tier
from samerun.runs.store import Run
from samerun.sources.catalogue import find_sources
from samerun.sources.source import Kind

_PATIENCE = 10.0  # times the longest run: threads made to run one after the other take longer
_PATIENCE_S = 60.0

# launching.run.record, or what stands in for it.
Record = Callable[..., Run]


class Trials:
    """Records runs of the request's command and tells the listener.

    Raises KeyboardInterrupt once the run that was interrupted is whole on disk.
    """

    def __init__(self, request: Request, listener: Listener, record: Record = record) -> None:
        self.request = request
        self.listener = listener
        self.recorded: dict[str, Run] = {}  # every run so far, by id
        self.fresh: Path | None = None  # when set, each run gets its own copy of this folder
        self.within: Path | None = None  # when set, all runs are in this folder, one after the other
        self.plain: Sequence[Losses] = ()  # of the first runs, once they are compared
        self._record = record
        self._steps: int | None = request.steps  # how many steps a run has, once known

    def record(
        self,
        stage: str,
        count: int,
        *,
        control: Control | None,
        tier: Tier = "steps",
        window: tuple[int, int] | None = None,
        stop_after: int | None = None,
        values: bool = False,
        probe: Probe | None = None,
        replay: Replay | None = None,
    ) -> list[Run]:
        """Record `count` runs, one after the other."""
        self.listener.stage(stage)
        runs = []
        for number in range(1, count + 1):
            steps = self._steps if stop_after is None else stop_after + 1
            self.listener.run_started(number, count, steps)
            run = self._one(tier, window, stop_after, control, values, probe, replay)
            if self._steps is None and stop_after is None and run.outcome == "finished":
                self._steps = run.steps
            runs.append(run)
        return runs

    def compare(
        self,
        stage: str,
        count: int,
        *,
        control: Control | None,
        window: tuple[int, int] | None,
        stop_after: int | None,
        tier: Tier = "ops",
    ) -> Comparison:
        """Record up to `count` runs, until two part; `same` when none do and all are whole."""
        runs: list[Run] = []
        comparisons: list[Comparison] = []
        while len(runs) < count:
            more = 1 if runs else 2
            runs += self.record(stage, more, control=control, tier=tier, window=window, stop_after=stop_after)
            comparisons = compare_all(runs)
            parted = find_earliest(comparisons)
            if parted is not None:
                return comparisons[parted]
        reason = run_outcome.explain_failure(runs, parted=False)
        if reason is not None:
            return Comparison("unknown", Scope((runs[0].id, runs[-1].id)), reason)
        chosen = next((item for item in comparisons if item.verdict == "unknown"), comparisons[0])
        return require_living(chosen, self.plain)

    def _one(
        self,
        tier: Tier,
        window: tuple[int, int] | None,
        stop_after: int | None,
        control: Control | None,
        values: bool,
        probe: Probe | None,
        replay: Replay | None,
    ) -> Run:
        request = self.request
        own = contextlib.nullcontext(self.within) if self.fresh is None else make_scratch_copy(self.fresh)
        with own as copy:
            run = self._record(
                list(request.command),
                store=request.store,
                tier=tier,
                window=window,
                stop_after=stop_after,
                control=control,
                cwd=request.folder,
                timeout=self._timeout(),
                on_progress=self._progress,
                scratch=(request.scratch or _may_name_files(replay)) and copy is None,
                values=values,
                probe=probe,
                copy=copy,
                **({} if replay is None else {"replay": replay}),
            )
        self.recorded[run.id] = run
        self.listener.run_ended(run.id, run.steps, run.outcome, run.duration_s)
        if run.outcome == "interrupted":
            raise KeyboardInterrupt
        return run

    def _timeout(self) -> float | None:
        """That of the request; else a multiple of a run's time, for edited code: it may wait for ever."""
        whole = [run.duration_s for run in self.recorded.values() if run.outcome == "finished"]
        if self.request.timeout is not None or self.within is None or not whole:
            return self.request.timeout
        return max(_PATIENCE_S, _PATIENCE * max(whole))

    def _progress(self, seen: Any) -> None:
        if seen.step is not None:
            self.listener.progress(seen.step, seen.loss, seen.elapsed_s)


def _may_name_files(replay: Replay | None) -> bool:
    """Whether a replayed run would write where the recorded one did: what names by time or uuid."""
    known = find_sources()
    return replay is not None and any(known[id_].kind is Kind.WORLD for id_ in replay.only or known)
