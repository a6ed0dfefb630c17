"""What a search has found so far, controlled in all runs that are recorded from then on."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from samerun.comparing.compare_runs import compare_all, compare_whole
from samerun.comparing.comparison import Comparison
from samerun.experiments import confidence
from samerun.experiments.check.judge import find_first_parting
from samerun.experiments.diagnose.edited_copy import make_edited_copy
from samerun.experiments.trials import GoesOn, Trials, choose_ending, stop_at_first
from samerun.experiments.what_counts import weigh
from samerun.explaining.cause import Cause
from samerun.explaining.patch import Patch, patch
from samerun.launching.workspace import Workspace
from samerun.runs.difference import Difference
from samerun.runs.plan import Control, Plan, Replay
from samerun.runs.store import Run
from samerun.sources.catalogue import find_sources, in_folder

_MOST_RUNS = 30  # that one proof of a rare difference may take


@dataclass(frozen=True)
class ProofRuns:
    """Further runs, and how they compare."""

    comparison: Comparison
    runs: tuple[Run, ...]  # the two that part, else all of them
    window: tuple[int, int] | None  # the steps at tier ops
    whole: bool  # not stopped at the difference
    patch: Patch | None = None  # the edits that the code had
    given: Replay | None = None  # what they were given of a recorded run


@dataclass(frozen=True)
class Prepared:
    """Where further runs take place."""

    at: Workspace
    patch: Patch | None = None  # the edits that the code has there


class ControlledRuns:
    """The causes that were proved, and how further runs are recorded with them controlled."""

    def __init__(self, trials: Trials, start: Path | None, share: float | None = None) -> None:
        self.trials = trials
        self.start = start  # the folder as it was before the first run; None: it could not be copied
        self._share = share  # of pairs of runs that differ, where that is not all of them
        self.causes: list[tuple[Difference, Cause]] = []  # all that were proved
        self.patch: Patch | None = None  # that for all causes, once its runs agreed to their end
        self.patched: list[tuple[Difference, Cause]] = []  # those of them that an edit of the code controls
        self.edited: set[str] = set()  # controlled by a patch, since their control does not reach the cause
        self.fresh = trials.request.scratch  # each run starts from the folder as it was
        self.given: Replay | None = None  # the sources without a control, and the run that they repeat
        self._controlled: tuple[str, ...] = ()

    def controlled(self) -> tuple[str, ...]:
        """The ids of all that is controlled, in whatever way."""
        given = (self.given.only if self.given is not None else None) or ()
        return (*self._controlled, *given, *(cause.source for _, cause in self.patched))

    def control(self, *more: str, without: Collection[str] = ()) -> Control | None:
        """That of the request, and the sources found so far, and these."""
        wanted = (id_ for id_ in (*self._controlled, *more) if id_ not in without)
        ids = tuple(id_ for id_ in wanted if self.way(id_) == "control")
        base = self.trials.request.control
        if base is not None:
            return replace(base, extra=(*base.extra, *ids))
        return Control(only=ids) if ids else None

    def free(self, sources: Collection[str]) -> None:
        """Control these no more: they are no causes."""
        self._controlled = tuple(id_ for id_ in self._controlled if id_ not in sources)
        self.fresh = self.trials.request.scratch or (self.fresh and not in_folder() & set(sources))
        self.causes = [item for item in self.causes if item[1].source not in sources]
        self.patch = None  # that had edits for them

    def by_edit(self) -> frozenset[str]:
        """The sources that are controlled by edits of the code in all runs from here on."""
        return frozenset(cause.source for _, cause in self.patched)

    def way(self, source: str) -> str:
        """How a source is controlled: by its control, by a patch of the code, or by a fresh folder."""
        known = find_sources().get(source)
        if source in in_folder():
            return "fresh"
        controlled = known is not None and known.controllable and source not in self.edited
        return "control" if controlled else "patch"

    @contextlib.contextmanager
    def prepared(
        self, sources: Collection[str] = (), causes: Sequence[tuple[Difference, Cause]] = ()
    ) -> Iterator[Prepared]:
        """Where runs take place: in a copy of the folder if a source found, or one of these, asks for it.

        An edited copy is the same for all of them: what one leaves there, the next one finds, as it did.
        """
        self.trials.given = self.given
        try:
            with self._place(sources, causes) as prepared:
                yield prepared
        finally:
            self.trials.given = None

    @contextlib.contextmanager
    def in_turn(self) -> Iterator[Prepared]:
        """A copy of the folder as it was before the first run; each run finds what the one before left."""
        self.trials.given = self.given
        request = self.trials.request
        made = patch(self.patched, request.folder, self.by_edit()) if self.patched else None
        try:
            with make_edited_copy(self.start or request.folder, made, request.command) as copy:
                yield Prepared(request.workspace.within(copy), made)
        finally:
            self.trials.given = None

    @contextlib.contextmanager
    def _place(
        self, sources: Collection[str], causes: Sequence[tuple[Difference, Cause]]
    ) -> Iterator[Prepared]:
        patched = [*self.patched, *causes]
        fresh = self.fresh or self.given is not None or bool(in_folder() & set(sources))
        request = self.trials.request
        base = self.start or request.folder
        at = request.workspace.each_from(base) if fresh else request.workspace
        made = patch(patched, request.folder, self.by_edit()) if patched else None
        if made is None:
            yield Prepared(at)
            return
        with make_edited_copy(base, made, request.command) as copy:
            yield Prepared(at.each_from(copy) if fresh else at.within(copy), made)

    def further(
        self,
        stage: str,
        count: int,
        plan: Plan,
        prepared: Prepared,
        agreed: Sequence[Run] = (),
        goes_on: GoesOn = stop_at_first,
    ) -> ProofRuns:
        """Up to `count` runs, fewer when two of them part; at tier ops in the window of the plan alone.

        `agreed` are runs recorded in this way before, which did not part: they count among them.
        """
        request = self.trials.request
        window, whole = plan.window, plan.stop_after is None
        plan = replace(plan, tier="steps" if window is None else "ops", values=whole)
        runs = list(agreed)
        while len(runs) < count:
            runs += self.trials.record(stage, 1 if runs else 2, plan, prepared.at)
            compared = compare_whole if whole else compare_all
            comparisons = weigh(runs, compared(runs, steps=request.steps))
            first = find_first_parting(runs, comparisons)
            parted = choose_ending(comparisons, first, goes_on)
            if parted is None and len(runs) >= count:
                parted = first
            if parted is not None:
                pair = (runs[0], runs[parted + 1])
                return ProofRuns(comparisons[parted], pair, window, whole, prepared.patch, plan.replay)
        judged = self.trials.judge(runs, comparisons)
        return ProofRuns(judged, tuple(runs), window, whole, prepared.patch, plan.replay)

    def needed(self, count: int) -> int:
        """How many runs must agree: more for a difference that is rare."""
        if self._share is None:
            return count
        return min(max(count, confidence.count_runs_needed(self._share) + 1), _MOST_RUNS)

    def keep(self, difference: Difference, causes: Sequence[Cause], given: Replay | None = None) -> str:
        """Control these, proved for a difference, from here on; how that is done.

        `given` is what the runs of the proof were given.
        """
        replayed = (given.only if given is not None else None) or ()
        ways = ["replay" if cause.source in replayed else self.way(cause.source) for cause in causes]
        for cause, way in zip(causes, ways, strict=True):
            if way == "replay":
                self.given = given
            elif way == "patch":
                self.patched.append((difference, cause))
            else:
                self.fresh = self.fresh or way == "fresh"
                self._controlled = (*self._controlled, cause.source)
        self.causes += [(difference, cause) for cause in causes]
        return " and ".join(dict.fromkeys(ways))

    def patch_of(self, proven: ProofRuns) -> Patch | None:
        """The patch for all causes, where these runs are of the code with no more than that."""
        request = self.trials.request
        if proven.patch is None or not proven.whole or proven.comparison.verdict != "same":
            return None
        if self.given is not None or self.control() != request.control or self.fresh != request.scratch:
            return None
        wanted = patch(self.causes, request.folder, self.by_edit())
        if wanted is None or wanted.cannot or wanted.files != proven.patch.files:
            return None
        return replace(wanted, verified=True, runs=tuple(run.id for run in proven.runs))
