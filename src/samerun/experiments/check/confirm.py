"""Explains a first difference, and confirms the explanation by further runs of the same command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from samerun.comparing.compare_runs import compare_all
from samerun.comparing.comparison import Comparison, Scope
from samerun.comparing.pairing import read
from samerun.comparing.without_effect import shares_tasks
from samerun.controls import is_contradicted
from samerun.experiments.replayed import Recorded
from samerun.experiments.trials import GoesOn, Trials, stop_at_first
from samerun.experiments.what_counts import weigh
from samerun.explaining.cause import Cause, Findings, make_cause
from samerun.explaining.confirm import SURE, Outcome, confirm, judge, list_aside, must_agree
from samerun.explaining.explain import list_suspects
from samerun.explaining.explained import Explained
from samerun.runs.difference import Difference, Evidence, Strength
from samerun.runs.plan import Control, Plan
from samerun.runs.schema import TEXTS
from samerun.runs.store import Run
from samerun.sources.catalogue import find_sources

_OF_OTHER = 2  # runs that are given what the other run had


@dataclass(frozen=True)
class Proof:
    """How to confirm: further runs recorded just as those that showed the difference, at tier ops.

    Less would not do: what tier steps does not record would seem to be mended by any control.
    """

    trials: Trials
    plan: Plan  # of the runs that parted
    partings: tuple[Difference, ...] = ()  # the first differences of other runs of the same command
    recorded: Recorded | None = None  # the first of the runs that parted; None: it cannot be replayed
    held: tuple[str, ...] = ()  # differ, and have no effect: each further run is held in these as well
    rare: bool = False  # most runs part later: a trial is the whole run
    setup: bool = True  # whether runs that differ in operations of the setup differ
    # Two runs alone have differed, so any trial of what is rare, or of what the first run left behind, would
    # agree: what points to the reason is tried and no more, by giving it what the first run had. Where that
    # was not seen directly, this is the second of the two, and must come back as well.
    second: Recorded | None = None
    beyond: Explained | None = None  # what differs first but for operations of the setup, if one of them does
    # The run that parted from the first. Where runs may agree by luck it must come back as well: what is
    # likely by luck in one of two runs that differ is unlikely in the other.
    other: Recorded | None = None


def explain_and_confirm(
    explained: Explained,
    proof: Proof | None,
    already_refuted: tuple[Evidence, ...] = (),
    unseen: frozenset[str] = frozenset(),
) -> Findings:
    """The sources behind the difference; none of them is confirmed without a proof.

    Several can be behind one line: what did not explain it alone is tried again with what comes next.
    """
    difference, tried = explained.difference, {item.source for item in already_refuted}
    evidence = tuple(item for item in explained.evidence if item.source not in tried)
    if proof is None:
        aside = tuple(map(make_cause, list_aside(evidence)))
        findings = Findings(explained.unproved().causes, aside)
    else:
        trial, to_the_end = _prepare(explained, proof)
        found = confirm(
            difference,
            evidence,
            trial,
            trial.can_tell,
            to_the_end=to_the_end,
            refuted_since=trial.has_refuted,
            already_refuted=already_refuted,
            unseen=unseen,
        )
        findings = trial.mark(found)
        refuted = {cause.source for cause in findings.ruled_out}
        fewer = explained.without(refuted)
        anew = fewer.best is not None and fewer.best.strength >= Strength.PLAUSIBLE
        known = (*already_refuted, *evidence)
        anew = anew and fewer.points_elsewhere(known)
        if anew and not any(cause.confirmed for cause in findings.causes):
            left = tuple(item for item in known if item.source in refuted)
            findings = explain_and_confirm(fewer, proof, left, findings.unseen)
    # What was ruled out here can still be behind a later difference.
    named = {item.source for item in (*findings.causes, *findings.suspects)}
    return replace(
        findings,
        suspects=(*findings.suspects, *list_suspects(difference, named)),
        notes=(*findings.notes, *explained.notes),
    )


def confirm_alone(explained: Explained, found: Sequence[Evidence], proof: Proof) -> Findings:
    """Those of these sources that runs confirm, replayed or controlled; no other is asked."""
    trial, to_the_end = _prepare(explained, replace(proof, second=None))
    findings = confirm(explained.difference, found, trial, trial.can_tell, to_the_end=to_the_end)
    return trial.mark(findings)


def confirm_found(
    explained: Explained, found: Sequence[Evidence], proof: Proof
) -> tuple[tuple[Cause, ...], frozenset[str]]:
    """The sources found otherwise that runs confirm which are given what they gave: nothing is invented.

    And those of them that such runs do not agree by.
    """
    recorded = proof.recorded
    if recorded is None:
        return (), frozenset()
    given = {item.source for item in found if recorded.can_give((item.source,))} - set(proof.held)
    first = {item.source: item for item in reversed(found) if item.source in given}
    rest = (item for item in explained.evidence if item.source not in given)
    trial, to_the_end = _prepare(explained, proof)
    findings = confirm(
        explained.difference, (*first.values(), *rest), trial, given.__contains__, to_the_end=to_the_end
    )
    confirmed = tuple(cause for cause in trial.mark(findings).causes if cause.confirmed)
    return confirmed, frozenset(cause.source for cause in findings.ruled_out) & given


def _prepare(explained: Explained, proof: Proof) -> tuple[_Trial, bool]:
    """How to try sources, and whether to the end.

    So where they must agree, and where threads or processes share tasks.
    """
    difference, runs = explained.difference, proof.trials.recorded.values()
    by_task = any(shares_tasks(read(run), difference.process) for run in runs)
    to_the_end = must_agree((difference, *proof.partings), explained.evidence) or proof.rare or by_task
    if by_task:  # a process may be given what belongs to a task that another one has now
        proof = replace(proof, recorded=None, second=None, other=None)
    if to_the_end:
        whole = replace(proof.plan, stop_after=None)
        recorded, other = (each and replace(each, plan=whole) for each in (proof.recorded, proof.other))
        proof = replace(proof, plan=whole, recorded=recorded, other=other)
    return _Trial(proof, explained, to_the_end), to_the_end


class _Trial:
    """Runs with sources replayed; controlled, where they cannot be, which proves less: it invents values."""

    def __init__(self, proof: Proof, explained: Explained, to_the_end: bool) -> None:
        asked = tuple(site for item in explained.evidence for site in item.unless_texts_at)
        recorded, second, other = (_ask(each, asked) for each in (proof.recorded, proof.second, proof.other))
        self._proof = proof = replace(proof, recorded=recorded, second=second, other=other)
        self._original = explained.difference
        self._to_the_end = to_the_end
        self._seen = {item.source for item in explained.evidence if item.strength >= Strength.SEEN}
        best = {explained.best.source} if explained.best else set()
        # These are tried, and none is controlled; None: any.
        self._replayed_only = (self._seen or best) if proof.second else None
        self._replayed: set[frozenset[str]] = set()  # what the last trials of these were
        self._then: dict[frozenset[str], Difference | None] = {}
        self._past_setup: set[frozenset[str]] = set()  # these are behind what differs beyond
        self._last: Run | None = None  # the last run that was given something

    def can_tell(self, source: str) -> bool:
        """Whether a trial can tell something: it can be replayed or controlled, which it was not already."""
        known, recorded = find_sources().get(source), self._proof.recorded
        if source in self._proof.held:
            return False
        if known is None or known.is_controlled_by(self._proof.plan.control):
            return False
        if recorded is not None and recorded.can_give((source,)):
            return self._replayed_only is None or source in self._replayed_only
        return self._replayed_only is None and known.controllable and not is_contradicted(source)

    def __call__(self, sources: tuple[str, ...], count: int) -> Comparison:
        """The runs compared, in which these are held."""
        comparison = self._compare((*self._proof.held, *sources), count)
        self._then[frozenset(sources)] = comparison.difference
        beyond, left = self._proof.beyond, comparison.difference
        if beyond is None or left is None or not is_in_setup(left):
            return comparison
        runs = [self._proof.trials.recorded[id_] for id_ in comparison.scope.runs]
        (records,) = weigh(runs, compare_all(runs, setup=False))
        if judge(records, beyond.difference, to_the_end=self._to_the_end) != "mended":
            return comparison
        self._past_setup.add(frozenset(sources))
        return records if _is_seen(beyond, sources) else comparison

    def _compare(self, sources: tuple[str, ...], count: int) -> Comparison:
        proof, recorded = self._proof, self._proof.recorded
        if recorded is not None and recorded.can_give(sources):
            again = self._repeat(recorded, sources, max(count - 1, 1))
            final = self._replayed_only is not None or not all(map(_is_controllable, sources))
            if again.verdict != "unknown" or final:
                self._replayed.add(frozenset(sources))
                return again
        self._replayed.discard(frozenset(sources))
        if not all(map(_is_controllable, sources)):  # and not all of them can be given: nothing is proved
            reason = "some of these sources can be replayed alone, and some controlled alone"
            return Comparison("unknown", Scope(("", "")), reason)
        base = proof.plan.control
        control = Control(only=sources) if base is None else replace(base, extra=(*base.extra, *sources))
        plan = replace(proof.plan, control=control)
        stage, goes_on = f"confirming {' + '.join(sources)}", self._choose_going_on(count)
        return proof.trials.compare(stage, count, plan, setup=proof.setup, goes_on=goes_on)

    def _repeat(self, recorded: Recorded, sources: tuple[str, ...], count: int) -> Comparison:
        """So many runs that are given what the first one had; or the second, each other time, if need be.

        Where so many are asked for that luck is feared, some more are given what the other one had.
        """
        proof, stage = self._proof, f"replaying {' + '.join(sources)}"
        second = None if self._seen.issuperset(set(sources) - set(proof.held)) else proof.second
        times = count if second is None else (count + 1) // 2
        goes_on = self._choose_going_on(count + 1)
        again = recorded.repeat(proof.trials, stage, sources, times, setup=proof.setup, goes_on=goes_on)
        self._last = proof.trials.recorded.get(again.scope.runs[-1])
        if self._judge(again) != "mended":
            return again
        if second is None:
            return self._repeat_other(again, sources) if count >= SURE - 1 else again
        if not second.can_give(sources):
            return Comparison("unknown", Scope(("", "")), "what the second run had of them was not kept")
        other = second.repeat(proof.trials, stage, sources, max(count // 2, 1), setup=proof.setup)
        return again if self._judge(other) == "mended" else other

    def _repeat_other(self, again: Comparison, sources: tuple[str, ...]) -> Comparison:
        """What two runs show that are given what the other run had; `again` where they are that run again."""
        other = self._proof.other
        if other is None or not other.can_give(sources):
            return again
        stage = f"replaying {' + '.join(sources)} of run B"
        back = other.repeat(self._proof.trials, stage, sources, _OF_OTHER, setup=self._proof.setup)
        return back if self._judge(back) == "still" else again

    def has_refuted(self, item: Evidence) -> bool:
        """Whether a run was seen to hash texts and numbers alone, where that speaks against the evidence."""
        if self._last is None or not item.unless_texts_at:
            return False
        recorded = read(self._last)
        rows = [
            row
            for trace in (*recorded.compared, *recorded.other)
            for row in trace.rows(trace.is_one_of("what", ("hashed",)))
            if row.call_site in item.unless_texts_at
        ]
        texts = [row.call_site for row in rows if row.name == TEXTS]
        return len(texts) == len(rows) and item.unless_texts_at[0] in texts

    def _choose_going_on(self, count: int) -> GoesOn:
        """Where luck is feared, two runs that part later are not enough: so many must."""
        return stop_at_first if count < SURE else lambda comparison: self._judge(comparison) == "mended"

    def _judge(self, comparison: Comparison) -> Outcome:
        return judge(comparison, self._original, to_the_end=self._to_the_end)

    def mark(self, findings: Findings) -> Findings:
        """The findings: whether a replay confirmed each cause, and what differs after it."""
        confirmed = frozenset(cause.source for cause in findings.causes if cause.confirmed)
        replayed = confirmed | set(self._proof.held) in self._replayed
        causes = (replace(cause, replayed=cause.confirmed and replayed) for cause in findings.causes)
        then, past = self._then.get(confirmed), confirmed in self._past_setup
        return replace(findings, causes=tuple(causes), then=then, past_setup=past)


def _ask(recorded: Recorded | None, sites: tuple[str, ...]) -> Recorded | None:
    """The same run, repeated by runs that look at what these lines hash."""
    if recorded is None or not sites:
        return recorded
    return replace(recorded, plan=replace(recorded.plan, asked=sites))


def _is_seen(explained: Explained, sources: tuple[str, ...]) -> bool:
    """Whether it is one source that was seen to be the reason."""
    return explained.is_seen and tuple(item.source for item in explained.evidence[:1]) == sources


def hides(explained: Explained) -> bool:
    """Whether what is likeliest is seldom seen once each operation is recorded."""
    best = None if explained.best is None else find_sources().get(explained.best.source)
    return best is not None and best.hides


def is_in_setup(difference: Difference) -> bool:
    """Whether it is an operation that comes before the training."""
    return difference.what == "operation" and difference.phase == "setup"


def _is_controllable(source: str) -> bool:
    known = find_sources().get(source)
    return known is not None and known.controllable and not is_contradicted(source)
