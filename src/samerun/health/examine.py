"""All notes on one run."""

from __future__ import annotations

from samerun.comparing.pairing import RecordedRun, read
from samerun.errors import SamerunError
from samerun.health import constant, drift, ranks, repeated, streams, workers
from samerun.health.case import Case
from samerun.runs.store import Run

_NOTES = (drift, ranks, workers, streams, constant, repeated)


def examine(run: Run) -> tuple[str, ...]:
    """What is to be said of the draws of a run, and of ranks that are to be one model; () where all is well.

    Nothing is said of a run that cannot be read: whoever compares it says so.
    """
    try:
        return list_notes(read(run))
    except SamerunError:
        return ()


def list_notes(recorded: RecordedRun) -> tuple[str, ...]:
    """The same of a run that is read already."""
    case = Case(recorded)
    return tuple(dict.fromkeys(line for module in _NOTES for line in module.note(case)))
