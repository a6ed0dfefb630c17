"""The verdict on a command that makes no optimizer step: by its operations, and never `same` by default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from samerun.comparing.comparison import Comparison
from samerun.experiments import run_outcome, scope
from samerun.experiments.check.result import CheckResult
from samerun.launching.marker_files import TORCH_SEEN
from samerun.launching.why_unrecorded import explain_unrecorded
from samerun.runs.store import Run


def judge(result: CheckResult, runs: Sequence[Run], comparisons: Sequence[Comparison]) -> CheckResult:
    """The verdict on runs that do not part, all of whose operations are recorded; `unknown` without any."""
    result = replace(result, losses=())
    counted = [count for item in comparisons for what, count in item.scope.counts.items() if what != "end"]
    if not (runs[0].path / TORCH_SEEN).exists() or not any(counted):
        return _make_unknown(result, runs, explain_unrecorded(runs[0].path, result.command))
    unknown = next((item for item in comparisons if item.verdict != "same"), None)
    if unknown is not None:
        return _make_unknown(result, runs, unknown.reason or "the runs cannot be compared")
    compared = scope.describe_scope(comparisons)
    if not run_outcome.has_same_output(runs):
        reason = (
            f"nothing differs in what torch did ({compared}), but what the runs printed differs: something "
            "outside of torch does, or they print the time or a process id"
        )
        return replace(result, reason=reason)
    return replace(result, verdict="same", scope=compared)


def _make_unknown(result: CheckResult, runs: Sequence[Run], reason: str) -> CheckResult:
    printed = run_outcome.has_same_output(runs)
    said = {True: "what the runs printed is the same", False: "what the runs printed differs", None: ""}
    notes = (*result.notes, said[printed]) if said[printed] else result.notes
    return replace(result, reason=reason, notes=notes)
