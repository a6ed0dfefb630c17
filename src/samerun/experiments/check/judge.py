"""What the comparisons of several runs with the first one come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from samerun.comparing.compare_runs import find_earliest
from samerun.comparing.comparison import Comparison
from samerun.experiments import confidence, run_outcome
from samerun.experiments.check.result import CheckResult
from samerun.runs.store import Run


def find_first_parting(runs: Sequence[Run], comparisons: Sequence[Comparison]) -> int | None:
    """Which comparison parts first in time, other than by a crash; None: none does, or all failed."""
    if run_outcome.failed_always(runs):
        return None
    pairs = zip(comparisons, runs[1:], strict=True)
    uncrashed = [item for item, run in pairs if not run_outcome.is_crash(item, (runs[0], run))]
    parted = find_earliest(uncrashed)
    return None if parted is None else comparisons.index(uncrashed[parted])


def judge_recorded(
    result: CheckResult, runs: Sequence[Run], comparisons: Sequence[Comparison]
) -> CheckResult:
    """The verdict on runs that do not part, from what is recorded: never `same` by default."""
    if failure := run_outcome.explain_failure(runs, parted=False):
        # In what runs differ that all failed is not what is wrong with them.
        differ = {note for item in comparisons if item.difference is not None for note in item.notes}
        notes = tuple(note for note in result.notes if note not in differ)
        return replace(result, reason=failure, output=run_outcome.read_last_lines(runs), notes=notes)
    unknown = next((item for item in comparisons if item.verdict != "same"), None)
    if unknown is not None:
        return replace(result, reason=unknown.reason)
    misses = (confidence.describe_misses(len(runs)),) if result.free_running else ()
    return replace(result, verdict="same", notes=(*result.notes, *misses))
