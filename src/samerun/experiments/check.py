"""`check`: record the command several times, compare, look closer where the runs part, explain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from samerun.comparing.compare import compare_whole, earliest
from samerun.comparing.comparison import Comparison
from samerun.experiments import outcomes, scope, stepless
from samerun.experiments.closer import look_closer
from samerun.experiments.listener import Listener
from samerun.experiments.request import Request
from samerun.experiments.result import CheckResult
from samerun.experiments.trials import Record, Trials
from samerun.experiments.why import Proof, why
from samerun.launching.run import record as recording
from samerun.runs.store import Run


def check(request: Request, listener: Listener | None = None, record: Record = recording) -> CheckResult:
    """Whether runs of the request's command give the same bits, and if not, where they part and why.

    Raises KeyboardInterrupt after Ctrl-C, with the runs recorded so far whole on disk, and what
    `record` raises when the command cannot be started.
    """
    trials = Trials(request, listener or Listener(), record)
    last = None if request.steps is None else request.steps - 1
    runs = trials.record("recording", request.runs, control=request.control, stop_after=last)
    comparisons = compare_whole(runs, steps=request.steps)
    result = undecided(request, runs, comparisons)
    parted = first_parting(runs, comparisons)
    if parted is None:
        return agreeing(trials, result, runs, comparisons)
    return _differs(trials, result, runs, comparisons, parted)


def first_parting(runs: Sequence[Run], comparisons: Sequence[Comparison]) -> int | None:
    """Which comparison parts first in time, other than by a crash; None when none does."""
    pairs = zip(comparisons, runs[1:], strict=True)
    uncrashed = [item for item, run in pairs if not outcomes.is_crash(item, (runs[0], run))]
    parted = earliest(uncrashed)
    return None if parted is None else comparisons.index(uncrashed[parted])


def agreeing(
    trials: Trials, result: CheckResult, runs: Sequence[Run], comparisons: Sequence[Comparison]
) -> CheckResult:
    """The verdict on runs that do not part: never `same` by default."""
    if failure := outcomes.failure(runs, parted=False):
        return replace(result, reason=failure, output=outcomes.last_lines(runs))
    if scope.steps(comparisons) == 0:
        return stepless.check(trials, result, runs)
    unknown = next((item for item in comparisons if item.verdict != "same"), None)
    if unknown is not None:
        return replace(result, reason=unknown.reason)
    return replace(result, verdict="same")


def undecided(request: Request, runs: Sequence[Run], comparisons: Sequence[Comparison]) -> CheckResult:
    """What is known before there is a verdict: it is unknown until something shows otherwise."""
    return CheckResult(
        "unknown",
        tuple(run.id for run in runs),
        command=request.command,
        folder=str(request.folder),
        steps=min(run.steps for run in runs),
        scope=scope.phrase(comparisons),
        losses=_losses(comparisons),
        notes=tuple(dict.fromkeys(note for item in comparisons for note in item.notes)),
        controlled=request.control is not None,
        place=str(request.store.runs),
        verdicts=tuple(item.verdict for item in comparisons),
    )


def _losses(comparisons: Sequence[Comparison]) -> tuple[Mapping[int, tuple[float, ...]], ...]:
    return (comparisons[0].losses[0], *(item.losses[1] for item in comparisons))


def _differs(
    trials: Trials,
    result: CheckResult,
    runs: Sequence[Run],
    comparisons: Sequence[Comparison],
    parted: int,
) -> CheckResult:
    request = trials.request
    first = comparisons[parted].difference
    assert first is not None
    closer = look_closer(trials, first, (runs[0].id, runs[parted + 1].id), request.control)
    proof = None
    if request.confirm and closer.reproduced:
        partings = tuple(item.difference for item in comparisons if item.difference is not None)
        proof = Proof(trials, request.control, closer.window, closer.stop_after, partings)
    findings = why(closer.difference, proof)
    failure = outcomes.failure(runs, parted=True)
    notes = (*result.notes, *agreement(comparisons), closer.note, failure, *findings.notes)
    return replace(
        result,
        verdict="differs",
        difference=closer.difference,
        pair=closer.pair,
        parted=(runs[0].id, runs[parted + 1].id),
        causes=findings.causes,
        suspects=findings.suspects,
        ruled_out=findings.ruled_out,
        notes=tuple(dict.fromkeys(note for note in notes if note)),
        output=outcomes.last_lines(runs),
    )


def agreement(comparisons: Sequence[Comparison]) -> list[str]:
    """Which runs agree with the first, when not all of them part."""
    agree = [str(number + 2) for number, item in enumerate(comparisons) if item.verdict == "same"]
    return [f"run 1 agrees with run {', '.join(agree)} and parts from the others"] if agree else []
