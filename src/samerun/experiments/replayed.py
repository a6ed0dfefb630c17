"""Runs that are given what a recorded run had from some sources: do they go on as that run did?"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from samerun.comparing.compare_runs import compare_all, find_earliest
from samerun.comparing.comparison import Comparison, Scope
from samerun.errors import RunError
from samerun.experiments import run_outcome
from samerun.experiments.living import require_living
from samerun.experiments.trials import Trials
from samerun.runs.answers import read_all_answers
from samerun.runs.plan import Control, Replay, Tier
from samerun.runs.store import Run
from samerun.sources.catalogue import find_sources


@dataclass(frozen=True)
class Recorded:
    """A run that others are to repeat, and how it was recorded."""

    run: Run
    control: Control | None
    tier: Tier
    window: tuple[int, int] | None
    stop_after: int | None

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

    def repeat(self, trials: Trials, stage: str, sources: Collection[str], count: int) -> Comparison:
        """Up to `count` runs with these replayed, until one parts from the recorded run.

        Unknown where a run asks for what the recorded one did not ask for before they part: the replay was
        not whole then, and proves nothing.
        """
        runs = [self.run]
        if self.stop_after is None and self.run.outcome == "stopped":  # the others are whole
            runs = trials.record(
                stage, 1, control=self.control, tier=self.tier, window=self.window, stop_after=None
            )
        while len(runs) <= count:
            runs += trials.record(
                stage,
                1,
                control=self.control,
                tier=self.tier,
                window=self.window,
                stop_after=self.stop_after,
                replay=Replay(str(runs[0].path.resolve()), tuple(sorted(sources))),
            )
            comparisons = compare_all(runs)
            parted = find_earliest(comparisons)
            if parted is not None:
                return self._judge(runs[-1], comparisons[parted], sources)
        reason = run_outcome.explain_failure(runs, parted=False)
        if reason is not None:
            return Comparison("unknown", Scope((runs[0].id, runs[-1].id)), reason)
        chosen = next((item for item in comparisons if item.verdict == "unknown"), comparisons[0])
        return require_living(chosen, trials.plain)

    def _judge(self, run: Run, comparison: Comparison, sources: Collection[str]) -> Comparison:
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
