"""Runs that are given what a recorded run had from some sources: do they go on as that run did?"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from samerun.comparing.compare_runs import compare, compare_all, find_earliest
from samerun.comparing.comparison import Comparison
from samerun.errors import RunError
from samerun.experiments.trials import GoesOn, Trials, choose_ending, stop_at_first
from samerun.experiments.what_counts import weigh
from samerun.launching.workspace import Workspace
from samerun.runs.answers import read_all_answers
from samerun.runs.plan import Plan, Replay
from samerun.runs.store import Run
from samerun.sources.catalogue import find_sources
from samerun.sources.source import Kind

_NAMES_FILES = (Kind.WORLD, Kind.PROVENANCE)


@dataclass(frozen=True)
class Recorded:
    """A run that others are to repeat, and how it was recorded."""

    run: Run
    plan: Plan

    def can_give(self, sources: Collection[str]) -> bool:
        """Whether what each of these gave to the run was kept, to its end."""
        known = find_sources()
        if not all(id_ in known and known[id_].can_replay() for id_ in sources):
            return False
        try:
            answers = list(read_all_answers(self.run.path))
        except RunError:
            return False
        kept = {answer.source for answer in answers if answer.what == "kept"}
        ended = {answer.source for answer in answers if answer.what == "ended"}
        return kept.issuperset(sources) and ended.isdisjoint(sources)

    def is_the_same_without(
        self,
        trials: Trials,
        stage: str,
        sources: Collection[str],
        step: int | None,
        comparing: Callable[[Run, Run], Comparison] = compare,
    ) -> bool:
        """Whether two runs with all but these replayed are the same to the end of a step, at tier steps.

        That is what `comparing` says of each of them and the recorded run.
        """
        replay = Replay(str(self.run.path.resolve()), without=tuple(sorted(sources)))
        plan = replace(self.plan, tier="steps", window=None, stop_after=step, replay=replay)
        at = replace(trials.request.workspace, fresh=True)
        for _ in range(2):  # the second where the first is
            (run,) = trials.record(stage, 1, plan, at)
            if comparing(self.run, run).verdict != "same":
                return False
        return True

    def repeat(
        self,
        trials: Trials,
        stage: str,
        sources: Collection[str],
        count: int,
        at: Workspace | None = None,
        *,
        setup: bool = True,
        goes_on: GoesOn = stop_at_first,
    ) -> Comparison:
        """Up to `count` runs with these replayed, until one diverges from the recorded run.

        Operations of the setup count where `setup` says so.

        What names files by time or uuid would write where the recorded run did: runs are in a copy then.
        Unknown where a run asks for what the recorded one did not ask for before they part: the replay was
        not whole then, and proves nothing.
        """
        at = at or trials.request.workspace
        if at.copy is None and any(find_sources()[id_].kind in _NAMES_FILES for id_ in sources):
            at = replace(at, fresh=True)
        runs = [self.run]
        if self.plan.stop_after is None and self.run.outcome == "stopped":  # the others are whole
            runs = trials.record(stage, 1, self.plan, at)
        plan = replace(self.plan, replay=Replay(str(runs[0].path.resolve()), tuple(sorted(sources))))
        parted = None
        while len(runs) <= count:
            runs += trials.record(stage, 1, plan, at)
            comparisons = weigh(runs, compare_all(runs, setup=setup))
            parted = find_earliest(comparisons)
            ended = choose_ending(comparisons, parted, goes_on)
            if ended is not None:
                return judge_parted(runs[ended + 1], comparisons[ended], sources)
        if parted is not None:
            return judge_parted(runs[parted + 1], comparisons[parted], sources)
        return trials.judge(runs, comparisons)


def judge_parted(run: Run, comparison: Comparison, sources: Collection[str]) -> Comparison:
    """What a replay of these sources that parted says: nothing, where it was not whole."""
    lacking = [
        answer
        for answer in read_all_answers(run.path)
        if answer.what == "parted" and answer.source in sources
    ]
    if not lacking:
        return comparison
    at = f" at {lacking[0].site}" if lacking[0].site else ""
    reason = f"{lacking[0].source} could not be replayed{at}: {lacking[0].value}"
    return replace(comparison, verdict="unknown", difference=None, reason=reason)
