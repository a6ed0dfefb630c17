"""Operations of the setup that differ and reach no step: a preview, weights that are then replaced."""

from __future__ import annotations

from samerun.experiments.check.confirm import Proof
from samerun.experiments.check.zoom import Zoom, stop_after
from samerun.explaining.cause import Findings
from samerun.explaining.confirm import is_not_after
from samerun.runs.difference import Difference

_NOTE = "{} at {} gives other values in each run ({}), without effect: runs that repeat the rest agree"


def is_needless(closer: Zoom, findings: Findings, proof: Proof, first: Difference) -> bool:
    """Whether what was confirmed is behind an operation that reaches nothing of `first`.

    `first` is what differs without a look at operations. Asked by two more runs, and only where runs with the
    confirmed causes held still differ up to there.
    """
    seen, then = closer.difference, findings.then
    if seen.what != "operation" or seen.phase != "setup" or proof.recorded is None:
        return False
    if then is None or not is_not_after(then, first):
        return False
    last, needed = proof.plan.stop_after, stop_after(first)
    if last is not None and (needed is None or last < needed):
        return False  # the recorded run ends before that: that another one agrees with it says nothing
    sources = _list_confirmed(findings)
    stage = f"is it without effect: {', '.join(sources)}"
    without = (*proof.held, *sources)
    return bool(sources) and proof.recorded.is_the_same_without(proof.trials, stage, without, needed)


def describe_needless(closer: Zoom, findings: Findings) -> str:
    """A note on the operation that is left out."""
    seen = closer.difference
    return _NOTE.format(seen.name, seen.call_site or "an unknown line", ", ".join(_list_confirmed(findings)))


def _list_confirmed(findings: Findings) -> list[str]:
    return sorted({cause.source for cause in findings.causes if cause.confirmed})
