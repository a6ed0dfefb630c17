"""The first runs of a command: whole, with their setup and first step at tier ops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from samerun.experiments.run_outcome import WHOLE
from samerun.experiments.trials import Trials
from samerun.launching.marker_files import TORCH_SEEN
from samerun.runs.plan import Plan
from samerun.runs.store import Run

# Most differences begin here, and are then seen closely at once.
FIRST_WINDOW = (-1, 0)
_NOTE = (
    "the command failed while every operation of its first step was recorded, and not without that: these "
    "runs were recorded step by step; please report it"
)


@dataclass(frozen=True)
class FirstRuns:
    """Runs that were recorded alike, and how; a note where operations could not be recorded."""

    runs: list[Run]
    plan: Plan
    note: str | None = None


def record_first(trials: Trials, count: int, plan: Plan) -> FirstRuns:
    """So many runs of the plan, with their first steps at tier ops.

    At tier steps where all failed there and one more, at tier steps, does not: what we do must not end what
    the user does.
    """
    closely = plan_first(plan)
    runs = trials.record("recording", count, closely)
    if not _failed_at_once(runs):
        return FirstRuns(runs, closely)
    again = trials.record("recording step by step, since the command failed", 1, plan)
    if again[0].outcome not in WHOLE:
        return FirstRuns(runs, closely)
    if count > 1:
        again += trials.record("recording step by step", count - 1, plan)
    return FirstRuns(again, plan, _NOTE)


def plan_first(plan: Plan) -> Plan:
    """The plan of whole runs, with their first steps at tier ops."""
    return replace(plan, tier="ops", window=FIRST_WINDOW)


def holds_first(run: Run) -> bool:
    """Whether its first steps were recorded at tier ops."""
    window = run.manifest.plan.get("window")
    return window is not None and tuple(window) == FIRST_WINDOW


def _failed_at_once(runs: Sequence[Run]) -> bool:
    """Whether torch was there in each, and the command failed before its first step was complete."""
    return all(
        run.outcome == "failed" and run.steps == 0 and (run.path / TORCH_SEEN).exists() for run in runs
    )
