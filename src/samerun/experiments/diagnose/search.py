"""Finds the source behind one first difference, proves it, and keeps it controlled from there on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from samerun.comparing.compare_runs import compare
from samerun.comparing.draw_ledger import build_ledger
from samerun.comparing.growth import measure_growth
from samerun.comparing.replayed_operation import Replay, aim, read_probe
from samerun.experiments import confidence
from samerun.experiments.check.confirm import is_in_setup
from samerun.experiments.check.follow_values import follow_values
from samerun.experiments.check.needless import find_beyond
from samerun.experiments.check.zoom import (
    Zoom,
    choose_window,
    is_of_results,
    is_within,
    look_at_results,
    look_closer,
    plan_closer_look,
    stop_after,
)
from samerun.experiments.diagnose.candidates import Candidates
from samerun.experiments.diagnose.controlled_runs import ControlledRuns, ProofRuns
from samerun.experiments.diagnose.result import FirstDifference, Proof
from samerun.experiments.leftover_files import find_left_behind
from samerun.explaining import opened_files
from samerun.explaining.cause import Cause, Findings, make_cause
from samerun.explaining.confirm import confirm, is_not_after, judge, must_agree
from samerun.explaining.explain import list_suspects
from samerun.explaining.explained import Explained
from samerun.explaining.framework_seed import advise_in_framework
from samerun.explaining.locate import locate_cause
from samerun.runs.difference import Difference, Evidence
from samerun.runs.plan import Plan
from samerun.runs.store import Run
from samerun.sources.catalogue import find_sources
from samerun.sources.source import Kind

_MADE_ANEW = "the runs began with the same files, so a program that the command runs made it anew"
_AGAIN = 3  # runs that a difference may take to come back


class Search:
    """Explains one first difference after the other."""

    def __init__(self, settled: ControlledRuns) -> None:
        self.complete = False
        self._settled = settled
        self._trials = settled.trials
        self._proof: ProofRuns | None = None
        self._last: Difference | None = None
        self._partings: list[Difference] = []  # where runs with all that was found controlled part
        self._refuted: tuple[Cause, ...] = ()  # what did not explain the difference without a closer look

    def explain(
        self, difference: Difference, pair: tuple[Run, Run], recorded: tuple[int, int] | None
    ) -> tuple[FirstDifference, ProofRuns | None]:
        """What is behind a first difference of this pair, and the runs that prove it (None: nothing does).

        `recorded` are the steps that the pair holds at tier ops.
        """
        self._partings = [difference]
        self._refuted = ()
        explained = Explained(difference)
        at_once = self._at_once(explained, (pair[0].id, pair[1].id), recorded)
        if at_once is not None:
            return self._found(at_once[0], pair, at_once[1])
        closer = self._closer(explained, pair, recorded)
        if not closer.reproduced:
            closer = self._again(closer)
        closer = _leave_out(closer, self._refuted)
        if not closer.reproduced:
            return self._found(closer, pair, (closer.explained.unproved(), None))
        certain = self._always_parts(pair, closer, difference)
        outcome = self._held(closer, certain=certain)
        if outcome[1] is None and closer.window and not is_within(closer.difference, closer.window):
            with self._settled.prepared() as prepared:  # what was seen did not explain it
                again = look_closer(
                    self._trials, closer.explained, closer.pair, self._settled.control(), at=prepared.at
                )
            if again.reproduced:
                closer = _leave_out(again, self._refuted)
                outcome = self._held(closer, certain=certain)
        return self._found(closer, pair, outcome)

    def _at_once(
        self, explained: Explained, pair: tuple[str, str], recorded: tuple[int, int] | None
    ) -> tuple[Zoom, tuple[Findings, ProofRuns | None]] | None:
        """What is known without looking closer, where that would cost runs and tell no more."""
        at = recorded if is_within(explained.difference, recorded) else None
        seen = Zoom(explained, pair, True, at, None)
        left = self._left_behind(explained, recorded)
        if left is not None:
            return seen, left
        if is_of_results(explained.difference):
            with self._settled.prepared() as prepared:
                seen = look_at_results(self._trials, explained, pair, self._settled.control(), prepared.at)
            return seen, self._held(seen, certain=False)
        if explained.is_beyond_control:  # but an edit may reach it
            findings, proven = self._held(seen, certain=False, best_only=True)
            return seen, (findings if proven is not None else explained.unproved(), proven)
        if explained.is_race:
            return self._race(seen)
        if seen.window is None and explained.is_plain:
            findings, proven = self._held(seen, certain=False, best_only=True)
            if proven is not None:
                return seen, (findings, proven)
            self._refuted = findings.ruled_out
        return None

    def _held(
        self,
        closer: Zoom,
        *,
        certain: bool,
        best_only: bool = False,
        already_refuted: tuple[Evidence, ...] = (),
        unseen: frozenset[str] = frozenset(),
    ) -> tuple[Findings, ProofRuns | None]:
        """What further runs say of the candidates for a difference that comes back.

        Several can be behind one line: what did not explain it alone is tried again with what comes next.
        """
        notes, tried = closer.explained.notes, {item.source for item in already_refuted}
        evidence = tuple(item for item in closer.explained.evidence if item.source not in tried)
        if best_only:
            evidence = evidence[:1]
        to_the_end = closer.rare or must_agree((*self._partings, closer.difference), evidence)
        attempts = Candidates(
            self._settled,
            closer,
            evidence,
            certain=certain,
            to_the_end=to_the_end,
            already_refuted=already_refuted,
        )
        findings = attempts.patched() or confirm(
            closer.difference,
            attempts.in_turn(),
            attempts.trial,
            attempts.can_try_alone,
            to_the_end=to_the_end,
            already_refuted=already_refuted,
            unseen=unseen,
        )
        if best_only or _is_confirmed(findings):
            return _add_notes(findings, notes), attempts.proof(findings)
        findings = attempts.edited(findings)
        fewer = _leave_out(closer, findings.ruled_out)
        known = (*already_refuted, *evidence)
        if not _is_confirmed(findings) and fewer.explained.points_elsewhere(known):
            refuted = {cause.source for cause in findings.ruled_out}
            left = tuple(item for item in known if item.source in refuted)
            return self._held(fewer, certain=False, already_refuted=left, unseen=findings.unseen)
        for ask in (attempts.read, attempts.everything):
            if not _is_confirmed(findings):
                findings = ask(findings)
        if not findings.causes:
            findings = _name_made_anew(findings)
        return _add_notes(findings, notes), attempts.proof(findings)

    def _race(self, closer: Zoom) -> tuple[Zoom, tuple[Findings, ProofRuns | None]] | None:
        """A race with a patch for it; where no edit ends one, what all controls together leave of it."""
        best, notes = closer.explained.evidence[0], closer.explained.notes
        attempts = Candidates(self._settled, closer, [best], certain=False, to_the_end=True)
        if attempts.can_try(best.source):
            findings = attempts.patched()
            if findings is None:
                return None
        else:
            findings = attempts.everything(Findings((make_cause(best),)))
        return closer, (_add_notes(findings, notes), attempts.proof(findings))

    def _follow(self, closer: Zoom, findings: Findings) -> Findings:
        """With the lines where values first differ.

        What that confirms is likely here: no run to the end proves it, as one does each cause of a diagnosis.
        """
        before = _is_confirmed(findings)
        with self._settled.prepared() as prepared:
            findings = follow_values(self._trials, closer, findings, self._settled.control(), prepared.at)
        if before:
            return findings
        causes = (
            replace(cause, confirmed=False, replayed=False, together=False) for cause in findings.causes
        )
        return replace(findings, causes=tuple(causes))

    def _found(
        self, closer: Zoom, pair: tuple[Run, Run], outcome: tuple[Findings, ProofRuns | None]
    ) -> tuple[FirstDifference, ProofRuns | None]:
        findings, proven = outcome
        if proven is None:
            findings = _keep_possible(self._follow(closer, findings))
        else:
            closer = self._pass_setup(closer, proven)
        difference = self._last = closer.difference
        seen = tuple(self._trials.recorded[run] for run in closer.pair)
        confirmed = tuple(cause for cause in findings.causes if cause.confirmed)
        alone = self._alone(difference, seen[0])
        proof = None
        if proven is not None:
            way = self._settled.keep(difference, confirmed, proven.given)
            parted = proven.comparison.difference
            proof = Proof(
                tuple(run.id for run in proven.runs),
                self._settled.controlled(),
                way,
                None if parted is None else parted.step,
                min(run.steps for run in proven.runs),
            )
            self._proof = proven
            self._settled.patch = self._settled.patch or self._settled.patch_of(proven)
        opened = None if proof is not None else opened_files.describe_opened(difference)
        notes = (*(note for note in (closer.note, opened) if note), *findings.notes)
        found = FirstDifference(
            difference,
            closer.pair,
            self._place(difference, confirmed or findings.causes),
            proof,
            _collect_ruled_out(findings, self._refuted),
            measure_growth(*pair, rank=difference.rank),
            build_ledger(seen[0], seen[1], rank=difference.rank),
            notes,
            alone,
        )
        return found, proven

    def _pass_setup(self, closer: Zoom, proven: ProofRuns) -> Zoom:
        """Where the training differs, if what differs in the setup before it still does in these runs.

        They may be of an edited script: it is the same operation where as many are equal before it.
        """
        beyond = find_beyond(self._trials, closer)
        if beyond is None or beyond.difference.phase == "setup":
            return closer
        left = compare(proven.runs[0], proven.runs[-1])
        before = compare(*(self._trials.recorded[id_] for id_ in closer.pair))
        equal, was = (item.scope.counts.get("operation", 0) for item in (left, before))
        still = left.difference is not None and is_in_setup(left.difference) and equal <= was
        return replace(closer, explained=beyond) if still else closer

    def _place(self, difference: Difference, causes: Sequence[Cause]) -> tuple[Cause, ...]:
        """With the line that an edit would change, or that draws, where no record has one; in the words of
        the user's framework."""
        folder = self._trials.request.folder
        if not difference.call_site:
            causes = [
                cause
                if cause.call_site
                else replace(cause, call_site=locate_cause(difference, cause, folder))
                for cause in causes
            ]
        return advise_in_framework(difference, causes, folder)

    def _alone(self, difference: Difference, run: Run) -> Replay | None:
        """The operation that put out something else of equal inputs, run again by itself in a further run."""
        origin = difference.origin
        if origin is None or not origin.inputs_equal or origin.draws:
            return None
        probe = aim(run, difference)
        if probe is None:
            return None
        plan = replace(plan_closer_look(difference, self._settled.control()), probe=probe)
        with self._settled.prepared() as prepared:
            (again,) = self._trials.record("running the operation alone", 1, plan, prepared.at)
        return read_probe(again, difference.rank)

    def _closer(self, explained: Explained, pair: tuple[Run, Run], recorded: tuple[int, int] | None) -> Zoom:
        difference, ids = explained.difference, (pair[0].id, pair[1].id)
        # What is not seen directly must show again first: any control seems to mend what is rare.
        if is_within(difference, recorded) and (explained.is_seen or self._parts_from_both(difference, pair)):
            return Zoom(explained, ids, True, choose_window(difference), stop_after(difference))
        if difference.what == "batch" and difference.in_workers and explained.is_seen:
            return Zoom(explained, ids, True, None, None)  # no operation of this process made it
        with self._settled.prepared() as prepared:
            return look_closer(
                self._trials,
                explained,
                ids,
                self._settled.control(),
                at=prepared.at,
                is_enough=lambda seen: seen.is_seen,
            )

    def _parts_from_both(self, difference: Difference, pair: tuple[Run, Run]) -> bool:
        """Whether one more run parts from both of the pair where they part."""
        plan = plan_closer_look(difference, self._settled.control())
        with self._settled.prepared() as prepared:
            (third,) = self._trials.record(f"looking closer at step {difference.step}", 1, plan, prepared.at)
        return all([self._parts(run, third, difference) for run in pair])

    def _always_parts(self, pair: tuple[Run, Run], closer: Zoom, where: Difference) -> bool:
        """Whether no two of the runs that are there agree, so that two that do are no luck."""
        near = [self._trials.recorded[run] for run in closer.pair]
        if not closer.reproduced or closer.explained.is_seen:
            return closer.reproduced
        if {run.id for run in near} == {run.id for run in pair}:
            return True  # a third one parted from both
        return all([self._parts(one, other, where) for one in pair for other in near])

    def _parts(self, one: Run, other: Run, where: Difference) -> bool:
        """Whether two runs part, and not after the place of a difference."""
        found = compare(one, other).difference
        if found is not None:
            self._partings.append(found)
        return found is not None and is_not_after(found, where)

    def _again(self, closer: Zoom) -> Zoom:
        """Recording every operation takes time: what depends on the clock may show only without it."""
        plan = Plan(control=self._settled.control())
        with self._settled.prepared() as prepared:
            proven = self._settled.further("recording again", _AGAIN, plan, prepared)
        found = proven.comparison.difference
        if found is None:
            return closer
        return Zoom(Explained(found), (proven.runs[0].id, proven.runs[-1].id), True, None, None, None)

    def _left_behind(
        self, explained: Explained, recorded: tuple[int, int] | None
    ) -> tuple[Findings, ProofRuns] | None:
        """What further runs, each from the folder as it was, say of what one run left for the other."""
        best = find_left_behind(explained)
        if best is None or self._settled.start is None or self._settled.fresh:
            return None
        plan = Plan(window=recorded, control=self._settled.control())
        stage = f"starting from the folder as it was: {best.source}"
        with self._settled.prepared((best.source,)) as prepared:
            proven = self._settled.further(stage, 2, plan, prepared)
        if judge(proven.comparison, explained.difference) != "mended":
            return None
        return Findings((make_cause(best, confirmed=True),)), proven

    def suspects(self, known: Collection[str]) -> tuple[Cause, ...]:
        """RNGs that also part, where the search ended before all was found."""
        return () if self.complete or self._last is None else tuple(list_suspects(self._last, set(known)))

    def confidence(self) -> str | None:
        """What the runs with everything controlled prove, None when they do not agree."""
        if not self.complete or self._proof is None:
            return None
        return confidence.describe_confidence(len(self._proof.runs))


def _is_confirmed(findings: Findings) -> bool:
    return any(cause.confirmed for cause in findings.causes)


def _name_made_anew(findings: Findings) -> Findings:
    """A file that differs though the runs began with the same files: a part of the command made it anew."""
    known = find_sources()

    def is_of_files(cause: Cause) -> bool:
        return known[cause.source].in_folder and known[cause.source].kind is Kind.WORLD

    found = tuple(
        replace(cause, evidence=f"{cause.evidence}; {_MADE_ANEW}")
        for cause in findings.ruled_out
        if is_of_files(cause)
    )
    left = tuple(cause for cause in findings.ruled_out if not is_of_files(cause))
    return replace(findings, causes=found, ruled_out=left)


def _add_notes(findings: Findings, notes: Sequence[str]) -> Findings:
    return replace(findings, notes=(*findings.notes, *notes))


def _keep_possible(findings: Findings) -> Findings:
    """Where nothing explains it: what edits alone may end, though those that were tried did not."""
    known = find_sources()
    kept = [cause for cause in findings.ruled_out if known[cause.source].edits_may_fall_short]
    if findings.causes or not kept:
        return findings
    left = tuple(cause for cause in findings.ruled_out if cause not in kept)
    return replace(findings, causes=tuple(kept), ruled_out=left)


def _collect_ruled_out(findings: Findings, before: Sequence[Cause]) -> tuple[Cause, ...]:
    """With what was ruled out before the closer look, unless that is a cause after all."""
    known = {cause.source for cause in (*findings.causes, *findings.ruled_out)}
    return (*findings.ruled_out, *(cause for cause in before if cause.source not in known))


def _leave_out(closer: Zoom, refuted: Sequence[Cause]) -> Zoom:
    """The difference without the generators among these, so that other sources say what they see in it."""
    generators = {cause.source for cause in refuted if find_sources()[cause.source].kind is Kind.RNG}
    return replace(closer, explained=closer.explained.without(generators))
