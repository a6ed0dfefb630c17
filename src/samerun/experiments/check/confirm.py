"""Explains a first difference, and confirms the explanation by further runs of the same command."""

from __future__ import annotations

from dataclasses import dataclass, replace

from samerun.comparing.comparison import Comparison
from samerun.controls import is_contradicted
from samerun.experiments.trials import Trials
from samerun.explaining.cause import Findings
from samerun.explaining.confirm import Trial, confirm, is_race
from samerun.explaining.explain import list_suspects
from samerun.explaining.explained import Explained
from samerun.runs.difference import Difference
from samerun.runs.plan import Control, Plan
from samerun.sources.catalogue import find_sources


@dataclass(frozen=True)
class Proof:
    """How to confirm: further runs recorded just as those that showed the difference, at tier ops.

    Less would not do: what tier steps does not record would seem to be mended by any control.
    """

    trials: Trials
    plan: Plan  # of the runs that parted
    partings: tuple[Difference, ...] = ()  # the first differences of other runs of the same command


def explain_and_confirm(explained: Explained, proof: Proof | None) -> Findings:
    """The sources behind the difference; none of them is confirmed without a proof."""
    difference, evidence = explained.difference, explained.evidence
    if proof is None:
        findings = Findings(explained.unproved().causes)
    else:
        base = proof.plan.control
        to_the_end = is_race((difference, *proof.partings), evidence)
        if to_the_end:
            proof = replace(proof, plan=replace(proof.plan, stop_after=None))
        findings = confirm(
            difference,
            evidence,
            _make_trial(proof),
            lambda source: _can_be_controlled(source, base),
            to_the_end=to_the_end,
        )
    # What was ruled out here can still be behind a later difference.
    known = {item.source for item in (*findings.causes, *findings.suspects)}
    return replace(
        findings,
        suspects=(*findings.suspects, *list_suspects(difference, known)),
        notes=(*findings.notes, *explained.notes),
    )


def _can_be_controlled(source: str, base: Control | None) -> bool:
    """Whether a trial can tell something: it has a control, which was not on already."""
    known = find_sources().get(source)
    if known is None or not known.controllable or is_contradicted(source):
        return False
    return not known.is_controlled_by(base)


def _make_trial(proof: Proof) -> Trial:
    def trial(sources: tuple[str, ...], count: int) -> Comparison:
        base = proof.plan.control
        control = Control(only=sources) if base is None else replace(base, extra=(*base.extra, *sources))
        plan = replace(proof.plan, control=control)
        return proof.trials.compare(f"confirming {' + '.join(sources)}", count, plan)

    return trial
