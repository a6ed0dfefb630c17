"""Records the runs of one command, all of them the same way, and compares them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from samerun.comparing.compare_runs import compare_all, find_earliest
from samerun.comparing.comparison import Comparison, Scope
from samerun.experiments import run_outcome
from samerun.experiments.living import Losses, require_living
from samerun.experiments.request import Request
from samerun.experiments.runner import Runner
from samerun.experiments.what_counts import weigh
from samerun.launching.workspace import Workspace
from samerun.runs.plan import Plan, Replay
from samerun.runs.store import Run

GoesOn = Callable[
    [Comparison], bool
]  # whether runs that part so are no end: all that were asked for are made
_PATIENCE = 10.0  # times the longest run: threads made to run one after the other take longer
_PATIENCE_S = 60.0


def stop_at_first(comparison: Comparison) -> bool:
    """Two runs that part are enough, wherever they do."""
    return False


def choose_ending(comparisons: Sequence[Comparison], parted: int | None, goes_on: GoesOn) -> int | None:
    """Which comparison ends a series of runs, of which `parted` is the first in time; None: none does yet."""
    differ = [number for number, item in enumerate(comparisons) if item.difference is not None]
    ends = [number for number in differ if not goes_on(comparisons[number])]
    return parted if parted is None or parted in ends else next(iter(ends), None)


class Trials:
    """Records runs of the request's command; raises what `Runner.run` raises."""

    def __init__(self, request: Request, runner: Runner | None = None) -> None:
        self.request = request
        self.plain: Sequence[Losses] = ()  # of the first runs, once they are compared
        self.given: Replay | None = None  # what runs are given of a recorded one, unless their plan says
        self._unsettled: Mapping[str, Any] = {}
        self._runner = runner or Runner()
        self._steps: int | None = request.steps  # how many steps a run has, once known

    @property
    def recorded(self) -> dict[str, Run]:
        """Every run so far, by id."""
        return self._runner.recorded

    def record(self, stage: str, count: int, plan: Plan, at: Workspace | None = None) -> list[Run]:
        """Record `count` runs, one after the other; `at`: elsewhere than the request says."""
        plan = self.request.limit(plan)
        plan = replace(plan, replay=plan.replay or self.given)
        at = at or self.request.workspace
        launch = replace(self.request.launch, timeout=self._timeout(at, plan))
        runs = []
        for number in range(1, count + 1):
            varied = replace(plan, vary=self._unsettled) if self._unsettled and number > 1 else plan
            run = self._runner.run(
                launch, varied, at=at, stage=stage, number=number, of=count, steps=self._steps
            )
            if self._steps is None and plan.stop_after is None and run.outcome == "finished":
                self._steps = run.steps
            runs.append(run)
        return runs

    @contextmanager
    def unsettle(self, vary: Mapping[str, Any]) -> Iterator[None]:
        """Meanwhile, of several runs recorded together all but the first are varied so."""
        self._unsettled = vary
        try:
            yield
        finally:
            self._unsettled = {}

    def compare(
        self,
        stage: str,
        count: int,
        plan: Plan,
        at: Workspace | None = None,
        *,
        setup: bool = True,
        goes_on: GoesOn = stop_at_first,
    ) -> Comparison:
        """Record up to `count` runs, until two part; `same` when none do and all are whole.

        Operations of the setup count where `setup` says so.
        """
        runs: list[Run] = []
        comparisons: list[Comparison] = []
        parted = None
        while len(runs) < count:
            runs += self.record(stage, 1 if runs else 2, plan, at)
            comparisons = weigh(runs, compare_all(runs, setup=setup))
            parted = find_earliest(comparisons)
            ended = choose_ending(comparisons, parted, goes_on)
            if ended is not None:
                return comparisons[ended]
        return self.judge(runs, comparisons) if parted is None else comparisons[parted]

    def judge(self, runs: Sequence[Run], comparisons: Sequence[Comparison]) -> Comparison:
        """What runs of which no two part show: `same` when all are whole and still train."""
        reason = run_outcome.explain_failure(runs, parted=False)
        if reason is not None:
            return Comparison("unknown", Scope((runs[0].id, runs[-1].id)), reason)
        chosen = next((item for item in comparisons if item.verdict == "unknown"), comparisons[0])
        return require_living(chosen, self.plain)

    def _timeout(self, at: Workspace, plan: Plan) -> float | None:
        """That of the request; else a multiple of a run's time, where we changed it: it may wait for ever."""
        edited = (at.copy is not None and not at.fresh) or plan.replay is not None or bool(plan.given)
        edited = edited or plan.control != self.request.control
        whole = [run.duration_s for run in self.recorded.values() if run.outcome == "finished"]
        if self.request.timeout is not None or not edited or not whole:
            return self.request.timeout
        return max(_PATIENCE_S, _PATIENCE * max(whole))
