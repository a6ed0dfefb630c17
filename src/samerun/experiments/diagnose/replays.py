"""Runs that are given what the recorded one had, for the candidates of one first difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from samerun.comparing.comparison import Comparison
from samerun.experiments.check.zoom import Zoom
from samerun.experiments.diagnose.controlled_runs import ControlledRuns, Prepared
from samerun.experiments.replayed import Recorded
from samerun.explaining.confirm import judge
from samerun.runs.difference import Evidence, Strength
from samerun.runs.plan import Plan, Replay
from samerun.runs.store import Run
from samerun.sources.catalogue import find_sources
from samerun.sources.source import Kind


class Replays:
    """What can be given again, and what a run that was given it proves or refutes."""

    def __init__(
        self, settled: ControlledRuns, closer: Zoom, evidence: Mapping[str, Evidence], *, to_the_end: bool
    ) -> None:
        self._settled = settled
        self._closer = closer
        self._evidence = evidence
        self._to_the_end = to_the_end  # runs that part later prove nothing
        self._refuting: dict[str, Comparison | None] = {}

    def can_prove(self, source: str) -> bool:
        """Whether it has no control, and a run can be given what the recorded one had from it."""
        known, settled = find_sources().get(source), self._settled
        if known is None or known.controllable or not known.can_replay() or settled.way(source) != "patch":
            return False
        return Recorded(self._recorded(), Plan()).can_give((source,))

    def _recorded(self) -> Run:
        """The run that others repeat."""
        return self._settled.trials.recorded[self._closer.pair[0]]

    def refute(self, source: str) -> Comparison | None:
        """Where a run that is given what the recorded one had from a generator still diverges from it.

        Its control or a patch would override what the script itself seeds it with, and prove too much. None
        where it does not diverge, where that cannot be told, and for what was seen directly.
        """
        item, known = self._evidence.get(source), find_sources().get(source)
        if item is None or known is None or known.kind is not Kind.RNG or item.strength >= Strength.SEEN:
            return None
        if source not in self._refuting:
            settled, closer = self._settled, self._closer
            plan = Plan(
                tier="ops" if closer.window else "steps",
                window=closer.window,
                stop_after=closer.stop_after,
                control=settled.control(),
            )
            recorded = Recorded(self._recorded(), plan)
            self._refuting[source] = None
            if recorded.can_give((source,)):
                with settled.prepared() as prepared:
                    again = recorded.repeat(settled.trials, f"replaying {source}", (source,), 1, prepared.at)
                if judge(again, closer.difference, to_the_end=self._to_the_end) == "still":
                    self._refuting[source] = again
        return self._refuting[source]

    def find_repeated(self, plan: Plan, prepared: Prepared) -> Run:
        """The run that others repeat: one as long as they are."""
        run = self._recorded()
        if plan.stop_after is None and run.outcome == "stopped":
            plan = replace(plan, tier="steps" if plan.window is None else "ops", values=True)
            (run,) = self._settled.trials.record("recording a whole run to repeat", 1, plan, prepared.at)
        return run

    def give(
        self, run: Run, sources: tuple[str, ...], plan: Plan, prepared: Prepared
    ) -> tuple[Plan, Prepared]:
        """Runs that are given what this one had from these, and from those replayed before."""
        given = self._settled.given
        ids = (*sources, *((given.only if given is not None else None) or ()))
        plan = replace(plan, replay=Replay(str(run.path.resolve()), tuple(sorted(ids))))
        if prepared.at.copy is None:  # what names files by what it reads would write where that run did
            prepared = replace(prepared, at=replace(prepared.at, fresh=True))
        return plan, prepared

    def list_alike(self, run: Run, sources: Sequence[str], plan: Plan) -> Sequence[Run]:
        """The run that is repeated, where nothing but the replay sets it apart from those of the plan."""
        window = run.manifest.plan.get("window")
        same = (None if window is None else tuple(window)) == plan.window
        whole = (run.outcome == "finished") == (plan.stop_after is None)
        return (run,) if same and whole and all(map(self.can_prove, sources)) else ()
