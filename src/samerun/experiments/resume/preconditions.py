"""Why a run of a resume experiment cannot serve it, in words for people."""

from __future__ import annotations

import re

from samerun.comparing.pairing import read
from samerun.experiments import run_outcome
from samerun.experiments.resume.attempts import ResumeRequest
from samerun.launching.why_unrecorded import explain_unrecorded
from samerun.runs.store import Run

_NUMBER = re.compile(r"\d+")


def explain_unfit(whole: Run, request: ResumeRequest) -> str | None:
    """Why nothing can be held against the run that was never stopped, None when something can."""
    at, steps = request.kill_at, whole.steps
    if whole.outcome not in run_outcome.WHOLE:
        return f"the command failed when it was not stopped: {run_outcome.describe_end(whole)}"
    if not steps:
        return explain_unrecorded(whole.path, request.command)
    if at < steps:
        return None
    made = f"the command makes {steps} optimizer step{'' if steps == 1 else 's'}, up to step {steps - 1}"
    better = (
        f"give --kill-at {'1' if steps == 2 else f'1 to {steps - 1}'}" if steps > 1 else "train for longer"
    )
    return f"{made}: it cannot be killed before step {at}; {better}"


def describe_start(whole: Run) -> str | None:
    """From which file of before the run that was never stopped may have gone on; None where it read none.

    One that it writes itself later, or whose name differs from that of one in its numbers alone.
    """
    read_first: dict[str, str] = {}
    written: set[str] = set()
    for trace in read(whole).compared:
        for row in trace.rows(trace.is_one_of("what", {"opened", "written"})):
            if row.detail is None:
                continue
            if row.what == "written":
                written.add(row.detail)
            elif row.detail not in written:
                read_first.setdefault(_NUMBER.sub("#", row.detail), row.detail)
    names = {_NUMBER.sub("#", path) for path in written}
    found = next((path for name, path in read_first.items() if name in names), None)
    if found is None:
        return None
    return (
        f"the run that was never stopped read {found}, which was there before: where that is a checkpoint, "
        "its steps are counted from there; move it away to begin with the first step of the training"
    )


def explain_not_stopped(run: Run, at: int) -> str | None:
    """Why a run that was to be killed was not, None when it was."""
    if run.outcome == "stopped":
        return None
    ended = "ended by itself" if run.outcome == "finished" else f"failed ({run_outcome.describe_end(run)})"
    return f"when it was to be killed at step {at}, the command {ended} before"


def describe_failed(resumed: Run) -> str:
    """How a resumed run that did not end as it should ended."""
    return f"the resumed command failed: {run_outcome.describe_end(resumed)}"
