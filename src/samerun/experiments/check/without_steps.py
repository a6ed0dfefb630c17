"""Checks a command that makes no optimizer step: by its operations, and never `same` by default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from samerun.comparing.compare_runs import compare
from samerun.comparing.comparison import list_left_out
from samerun.experiments import run_outcome, scope
from samerun.experiments.check.confirm import Proof, explain_and_confirm
from samerun.experiments.check.result import CheckResult
from samerun.experiments.trials import Trials
from samerun.experiments.what_counts import weigh
from samerun.explaining.explained import Explained
from samerun.launching.marker_files import TORCH_SEEN
from samerun.launching.why_unrecorded import explain_unrecorded
from samerun.runs.plan import Plan
from samerun.runs.store import Run


def check(trials: Trials, result: CheckResult, runs: Sequence[Run]) -> CheckResult:
    """The verdict from two further runs at tier ops; `unknown` when they have nothing to compare."""
    request = trials.request
    if not (runs[0].path / TORCH_SEEN).exists():
        return _make_unknown(result, runs, explain_unrecorded(runs[0].path, request.command))
    plan = Plan(tier="ops", control=request.control)
    pair = trials.record("no optimizer step: recording operations", 2, plan)
    (comparison,) = weigh(pair, [compare(*pair)])
    difference = comparison.difference
    result = replace(
        result,
        runs=(*result.runs, *(run.id for run in pair)),
        losses=(),
        notes=tuple(dict.fromkeys((*result.notes, *comparison.notes))),
        left_out=list_left_out([result, comparison]),
    )
    crashed = run_outcome.failed_always(pair) or run_outcome.is_crash(comparison, pair)
    if difference is not None and not crashed:
        proof = Proof(trials, plan) if request.confirm else None
        findings = explain_and_confirm(Explained(difference), proof)
        return replace(
            result,
            verdict="differs",
            difference=difference,
            pair=(pair[0].id, pair[1].id),
            causes=findings.causes,
            suspects=findings.suspects,
            ruled_out=findings.ruled_out,
            notes=(*result.notes, *findings.notes),
        )
    if failure := run_outcome.explain_failure(pair, parted=False):
        return replace(result, reason=failure, output=run_outcome.read_last_lines(pair))
    if not any(count for what, count in comparison.scope.counts.items() if what != "end"):
        return _make_unknown(result, runs, explain_unrecorded(pair[0].path, request.command))
    if comparison.verdict != "same":
        return _make_unknown(result, runs, comparison.reason or "the runs cannot be compared")
    if not (run_outcome.has_same_output(runs) and run_outcome.has_same_output(pair)):
        reason = (
            f"nothing differs in what torch did ({scope.describe_scope([comparison])}), but "
            "what the runs printed "
            "differs: something outside of torch does, or they print the time or a process id"
        )
        return replace(result, reason=reason)
    return replace(result, verdict="same", scope=scope.describe_scope([comparison]))


def _make_unknown(result: CheckResult, runs: Sequence[Run], reason: str) -> CheckResult:
    printed = run_outcome.has_same_output(runs)
    said = {True: "what the runs printed is the same", False: "what the runs printed differs", None: ""}
    notes = (*result.notes, said[printed]) if said[printed] else result.notes
    return replace(result, reason=reason, notes=notes)
