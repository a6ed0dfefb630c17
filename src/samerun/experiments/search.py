"""Finds the source behind one first difference, proves it, and keeps it controlled from there on."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from samerun.comparing.compare import compare, compare_all, compare_whole
from samerun.comparing.comparison import Comparison, Scope
from samerun.comparing.growth import growth
from samerun.comparing.ledger import ledger
from samerun.comparing.probe import Probed, aim, probed
from samerun.experiments import confidence, outcomes
from samerun.experiments.candidates import Candidates
from samerun.experiments.check import first_parting
from samerun.experiments.closer import Closer, look_closer, stop_after, window
from samerun.experiments.diagnosis import Found, Proof
from samerun.experiments.trials import Trials
from samerun.explaining import openings
from samerun.explaining.cause import Cause, Findings, cause_of
from samerun.explaining.confirm import confirm, is_free, judge, points, position, races
from samerun.explaining.explain import explain, suspects
from samerun.explaining.patch import Patch, patch
from samerun.explaining.placing import placed
from samerun.launching.scratch import scratch_copy
from samerun.runs.difference import Difference
from samerun.runs.plan import Control
from samerun.runs.store import Run
from samerun.sources._world import World
from samerun.sources.catalogue import catalogue

_FILES = frozenset({"resume-state", "input-data"})  # controlled by starting from the folder as it was
_AGAIN = 3  # runs that a difference may take to come back
_MOST_RUNS = 30  # that one proof of a rare difference may take


@dataclass(frozen=True)
class Proven:
    """Further runs, and how they compare."""

    comparison: Comparison
    runs: tuple[Run, ...]  # the two that part, else all of them
    window: tuple[int, int] | None  # the steps at tier ops
    whole: bool  # not stopped at the difference
    patch: Patch | None = None  # the edits that the code had


class Search:
    """What was found so far stays controlled in all runs that are recorded from then on."""

    def __init__(self, trials: Trials, start: Path | None, share: float | None = None) -> None:
        self.trials = trials
        self.complete = False
        self.patch: Patch | None = None  # that for all causes, once its runs agreed to their end
        self.start = start  # the folder as it was before the first run; None: too big to be copied
        self._share = share  # of pairs of runs that differ, where that is not all of them
        self.causes: list[tuple[Difference, Cause]] = []  # all that were proved
        self._controlled: tuple[str, ...] = ()
        self.patched: list[tuple[Difference, Cause]] = []
        self.edited: set[str] = set()  # controlled by a patch, since their control does not reach the cause
        self.applied: Patch | None = None  # what the code has been edited with for the runs of now
        self._fresh = trials.request.scratch
        self._proof: Proven | None = None
        self._last: Difference | None = None
        self._partings: list[Difference] = []  # where runs with all that was found controlled part

    # --- one first difference ----------------------------------------------------------------------

    def explain(
        self, difference: Difference, pair: tuple[Run, Run], recorded: tuple[int, int] | None
    ) -> tuple[Found, Proven | None]:
        """What is behind a first difference of this pair, and the runs that prove it (None: nothing does).

        `recorded` are the steps that the pair holds at tier ops.
        """
        self._last = difference
        self._partings = [difference]
        left = self._left_behind(difference, recorded)
        if left is not None:
            return self._found(Closer(difference, (pair[0].id, pair[1].id), True, recorded, None), pair, left)
        if not _is_within(difference, recorded) and _branches_by_what_it_reads(difference):
            closer = Closer(difference, (pair[0].id, pair[1].id), True, None, None)
            findings, proven = self._held(closer, certain=False, best_only=True)
            if proven is not None:
                return self._found(closer, pair, (findings, proven))
        if _is_a_race_alone(difference):
            within = recorded if _is_within(difference, recorded) else None
            closer = Closer(difference, (pair[0].id, pair[1].id), True, within, None)
            outcome = self._patched(closer)
            if outcome is not None:
                return self._found(closer, pair, outcome)
        closer = self._closer(difference, pair, recorded)
        if not closer.reproduced:
            closer = self._again(closer)
        self._last = closer.difference
        if not closer.reproduced:
            evidence, notes = explain(closer.difference)
            findings = Findings(tuple(map(cause_of, evidence)), notes=tuple(notes))
            return self._found(closer, pair, (findings, None))
        certain = self._always_parts(pair, closer, difference)
        outcome = self._held(closer, certain=certain)
        if outcome[1] is None and closer.window and not _is_within(closer.difference, closer.window):
            with self.prepared():  # what was seen did not explain it
                again = look_closer(self.trials, closer.difference, closer.pair, self.control())
            if again.reproduced:
                closer, self._last = again, again.difference
                outcome = self._held(closer, certain=certain)
        return self._found(closer, pair, outcome)

    def _held(
        self, closer: Closer, *, certain: bool, best_only: bool = False
    ) -> tuple[Findings, Proven | None]:
        """What further runs say of the candidates for a difference that comes back."""
        evidence, notes = explain(closer.difference)
        if best_only:
            evidence = evidence[:1]
        to_the_end = races((*self._partings, closer.difference), evidence)
        attempts = Candidates(self, closer, evidence, certain=certain, to_the_end=to_the_end)
        findings = attempts.patched() or confirm(
            closer.difference,
            attempts.in_turn(),
            attempts.trial,
            attempts.can_try_alone,
            to_the_end=to_the_end,
        )
        for more in () if best_only else (attempts.edited, attempts.read, attempts.everything):
            if not any(cause.confirmed for cause in findings.causes):
                findings = more(findings)
        return replace(findings, notes=(*findings.notes, *notes)), attempts.proof(findings)

    def _patched(self, closer: Closer) -> tuple[Findings, Proven | None] | None:
        """What the code with a patch for the best candidate says; None where it does not repeat itself."""
        evidence, notes = explain(closer.difference)
        attempts = Candidates(self, closer, evidence[:1], certain=False, to_the_end=True)
        findings = attempts.patched()
        if findings is None:
            return None
        return replace(findings, notes=(*findings.notes, *notes)), attempts.proof(findings)

    def _found(
        self, closer: Closer, pair: tuple[Run, Run], outcome: tuple[Findings, Proven | None]
    ) -> tuple[Found, Proven | None]:
        findings, proven = outcome
        difference = closer.difference
        seen = tuple(self.trials.recorded[run] for run in closer.pair)
        confirmed = tuple(cause for cause in findings.causes if cause.confirmed)
        alone = self._alone(difference, seen[0])
        proof = None
        if proven is not None:
            way = self._keep(difference, confirmed)
            self.causes += [(difference, cause) for cause in confirmed]
            parted = proven.comparison.difference
            proof = Proof(
                tuple(run.id for run in proven.runs),
                self.controlled(),
                way,
                None if parted is None else parted.step,
                min(run.steps for run in proven.runs),
            )
            self._proof = proven
            self.patch = self.patch or self._patch_of(proven)
        opened = None if proof is not None else openings.told(difference)
        notes = (*(note for note in (closer.note, opened) if note), *findings.notes)
        found = Found(
            difference,
            closer.pair,
            tuple(self._placed(difference, cause) for cause in confirmed or findings.causes),
            proof,
            findings.ruled_out,
            growth(*pair, rank=difference.rank),
            ledger(seen[0], seen[1], rank=difference.rank),
            notes,
            alone,
        )
        return found, proven

    def _patch_of(self, proven: Proven) -> Patch | None:
        """The patch for all causes, where the proof is runs of the code with no more than that."""
        request = self.trials.request
        if proven.patch is None or not proven.whole or proven.comparison.verdict != "same":
            return None
        if self.control() != request.control or self._fresh != request.scratch:
            return None
        wanted = patch(self.causes, request.folder, self.by_edit())
        if wanted is None or wanted.cannot or wanted.files != proven.patch.files:
            return None
        return replace(wanted, verified=True, runs=tuple(run.id for run in proven.runs))

    def _placed(self, difference: Difference, cause: Cause) -> Cause:
        """With the line that an edit would change, or that draws, where no record has one."""
        if cause.call_site or difference.call_site:
            return cause
        return replace(cause, call_site=placed(difference, cause, self.trials.request.folder))

    def _alone(self, difference: Difference, run: Run) -> Probed | None:
        """The operation that put out something else of equal inputs, run again by itself in a further run."""
        origin = difference.origin
        if origin is None or not origin.inputs_equal or origin.draws:
            return None
        probe = aim(run, difference)
        if probe is None:
            return None
        with self.prepared():
            (again,) = self.trials.record(
                "running the operation alone",
                1,
                control=self.control(),
                tier="ops",
                window=window(difference),
                stop_after=stop_after(difference),
                probe=probe,
            )
        return probed(again, difference.rank)

    def _closer(
        self, difference: Difference, pair: tuple[Run, Run], recorded: tuple[int, int] | None
    ) -> Closer:
        ids = pair[0].id, pair[1].id
        # What is not seen directly must show again first: any control seems to mend what is rare.
        if _is_within(difference, recorded) and (
            _is_seen(difference) or self._parts_from_both(difference, pair)
        ):
            return Closer(difference, ids, True, window(difference), stop_after(difference))
        if difference.what == "batch" and difference.in_workers and _is_seen(difference):
            return Closer(difference, ids, True, None, None)  # no operation of this process made it
        with self.prepared():
            return look_closer(self.trials, difference, ids, self.control(), is_enough=_is_seen)

    def _parts_from_both(self, difference: Difference, pair: tuple[Run, Run]) -> bool:
        """Whether one more run parts from both of the pair where they part."""
        with self.prepared():
            (third,) = self.trials.record(
                f"looking closer at step {difference.step}",
                1,
                control=self.control(),
                tier="ops",
                window=window(difference),
                stop_after=stop_after(difference),
            )
        return all([self._parts(run, third, difference) for run in pair])

    def _always_parts(self, pair: tuple[Run, Run], closer: Closer, where: Difference) -> bool:
        """Whether no two of the runs that are there agree, so that two that do are no luck."""
        near = [self.trials.recorded[run] for run in closer.pair]
        if not closer.reproduced or _is_seen(closer.difference):
            return closer.reproduced
        if {run.id for run in near} == {run.id for run in pair}:
            return True  # a third one parted from both
        return all([self._parts(one, other, where) for one in pair for other in near])

    def _parts(self, one: Run, other: Run, where: Difference) -> bool:
        """Whether two runs part, and not after the place of a difference."""
        found = compare(one, other).difference
        if found is not None:
            self._partings.append(found)
        return found is not None and position(found) <= position(where)

    def _again(self, closer: Closer) -> Closer:
        """Recording every operation takes time: what depends on the clock may show only without it."""
        with self.prepared():
            proven = self.further("recording again", _AGAIN, self.control(), None, None)
        found = proven.comparison.difference
        if found is None:
            return closer
        return Closer(found, (proven.runs[0].id, proven.runs[-1].id), True, None, None, None)

    def _left_behind(
        self, difference: Difference, recorded: tuple[int, int] | None
    ) -> tuple[Findings, Proven] | None:
        """What one run left and the other found cannot show in further runs: they all find it."""
        files = (item for item in explain(difference)[0] if item.source in _FILES and item.strength >= 0.7)
        best = next(files, None)
        if best is None or self.start is None or self._fresh:
            return None
        with self.prepared((best.source,)):
            proven = self.further(
                f"starting from the folder as it was: {best.source}", 2, self.control(), recorded, None
            )
        if judge(proven.comparison, difference) != "mended":
            return None
        return Findings((cause_of(best, confirmed=True),)), proven

    # --- recording under what is known ---------------------------------------------------------------

    def controlled(self) -> tuple[str, ...]:
        """The ids of all that is controlled, in whatever way."""
        return (*self._controlled, *(cause.source for _, cause in self.patched))

    def control(self, *more: str) -> Control | None:
        """That of the request, and the sources found so far, and these."""
        ids = tuple(id_ for id_ in (*self._controlled, *more) if self.way(id_) == "control")
        base = self.trials.request.control
        if base is not None:
            return replace(base, extra=(*base.extra, *ids))
        return Control(only=ids) if ids else None

    def by_edit(self) -> frozenset[str]:
        """The sources that are controlled by edits of the code in all runs from here on."""
        return frozenset(cause.source for _, cause in self.patched)

    def way(self, source: str) -> str:
        """How a source is controlled: by its control, by a patch of the code, or by a fresh folder."""
        known = catalogue().get(source)
        if source in _FILES:
            return "fresh"
        controlled = known is not None and known.controllable and source not in self.edited
        return "control" if controlled else "patch"

    @contextlib.contextmanager
    def prepared(
        self, sources: Collection[str] = (), causes: Sequence[tuple[Difference, Cause]] = ()
    ) -> Iterator[None]:
        """Runs are in a copy of the folder where a source found, or one of these, asks for it.

        An edited copy is the same for all of them: what one leaves there, the next one finds, as it did.
        """
        patched = [*self.patched, *causes]
        fresh = self._fresh or bool(_FILES & set(sources))
        base = self.start or self.trials.request.folder
        before = self.trials.fresh, self.trials.within, self.applied
        with contextlib.ExitStack() as stack:
            if patched:
                base = stack.enter_context(scratch_copy(base))
                made = patch(patched, self.trials.request.folder, self.by_edit())
                if made is not None:
                    made.apply(base)
                    self.applied = made
            self.trials.fresh = base if fresh else None
            self.trials.within = base if patched and not fresh else None
            try:
                yield
            finally:
                self.trials.fresh, self.trials.within, self.applied = before

    def further(
        self,
        stage: str,
        count: int,
        control: Control | None,
        at: tuple[int, int] | None,
        stop: int | None,
        agreed: Sequence[Run] = (),
    ) -> Proven:
        """Up to `count` runs, fewer when two of them part; at tier ops in the steps `at`, where given.

        `agreed` are runs recorded in this way before, which did not part: they count among them.
        """
        request = self.trials.request
        last = None if request.steps is None else request.steps - 1
        runs = list(agreed)
        while len(runs) < count:
            runs += self.trials.record(
                stage,
                1 if runs else 2,
                control=control,
                tier="steps" if at is None else "ops",
                window=at,
                stop_after=last if stop is None else stop,
                values=stop is None,
            )
            compared = compare_whole if stop is None else compare_all
            comparisons = compared(runs, steps=request.steps)
            parted = first_parting(runs, comparisons)
            if parted is not None:
                pair = (runs[0], runs[parted + 1])
                return Proven(comparisons[parted], pair, at, stop is None, self.applied)
        reason = outcomes.failure(runs, parted=False)
        if reason is not None:
            unknown = Comparison("unknown", Scope((runs[0].id, runs[-1].id)), reason)
            return Proven(unknown, tuple(runs), at, stop is None, self.applied)
        chosen = next((item for item in comparisons if item.verdict == "unknown"), comparisons[0])
        return Proven(chosen, tuple(runs), at, stop is None, self.applied)

    def needed(self, count: int) -> int:
        """How many runs must agree: more for a difference that is rare."""
        if self._share is None:
            return count
        return min(max(count, confidence.runs_needed(self._share) + 1), _MOST_RUNS)

    def _keep(self, difference: Difference, causes: Sequence[Cause]) -> str:
        ways = [self.way(cause.source) for cause in causes]
        for cause, way in zip(causes, ways, strict=True):
            if way == "patch":
                self.patched.append((difference, cause))
            else:
                self._fresh = self._fresh or way == "fresh"
                self._controlled = (*self._controlled, cause.source)
        return " and ".join(dict.fromkeys(ways))

    # --- about the whole -------------------------------------------------------------------------------

    def suspects(self, known: Collection[str]) -> tuple[Cause, ...]:
        """RNGs that also part, where the search ended before all was found."""
        return () if self.complete or self._last is None else tuple(suspects(self._last, set(known)))

    def confidence(self) -> str | None:
        """What the runs with everything controlled prove, None when they do not agree."""
        if not self.complete or self._proof is None:
            return None
        return confidence.phrase(len(self._proof.runs))


def _is_within(difference: Difference, recorded: tuple[int, int] | None) -> bool:
    return recorded is not None and recorded[0] <= difference.step <= recorded[1]


def _branches_by_what_it_reads(difference: Difference) -> bool:
    """Whether the best evidence is a clock or the like, read on a line like `while time.time() < end:`.

    Runs part at another step each time then, so that no window of operations could be aimed at it.
    """
    for item in explain(difference)[0][:1]:
        source = catalogue()[item.source]
        return isinstance(source, World) and source.branching(difference) is not None
    return False


def _is_a_race_alone(difference: Difference) -> bool:
    """Whether all that points to anything is a race, which no control holds.

    It parts runs at another place each time: a closer look at one of these places tells no more of it.
    """
    best = [item for item in explain(difference)[0] if points(item)]
    return len(best) == 1 and catalogue()[best[0].source].kind == "order" and is_free(best)


def _is_seen(difference: Difference) -> bool:
    """Whether the reason was seen directly."""
    return any(item.strength >= 1 for item in explain(difference)[0][:1])
