"""What a recorded run asks of the run that is to be the same again."""

from __future__ import annotations

import json

from samerun.errors import RunError
from samerun.runs.answers import SUFFIX, read_all_answers
from samerun.runs.plan import Plan
from samerun.runs.store import Run


def read_plan(run: Run) -> Plan:
    """The plan of a run that kept what its sources gave.

    Raises RunError for a run that kept nothing, has not ended, or is damaged, SchemaError as its manifest.
    """
    manifest = run.manifest
    if manifest.outcome == "running":
        raise RunError(f"The run {run.id} has not ended, so nothing can be compared with it: wait for it.")
    try:
        plan = Plan.from_json(json.dumps(manifest.plan))
    except (TypeError, KeyError, ValueError, AttributeError, IndexError) as error:
        raise RunError(f"The plan of the run {run.id} cannot be read ({error}): record it again.") from None
    if not _keeps_answers(run, plan):
        raise RunError(
            f"The run {run.id} kept nothing of what its sources gave (an older samerun recorded it, or "
            "nothing was to be recorded), so it cannot be run again: record it anew, and rerun that."
        )
    for _ in read_all_answers(run.path):
        pass  # raises RunError for what cannot be read, before anything is started
    return plan


def _keeps_answers(run: Run, plan: Plan) -> bool:
    """Under a control a run can be repeatable, with nothing to keep."""
    if plan.tier == "none" or "hash_seed" not in run.manifest.plan:
        return False
    controlled = plan.control is not None and plan.control.mode != "off"
    return controlled or any(run.path.glob(f"*{SUFFIX}"))
