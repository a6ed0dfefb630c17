"""Inputs that change from run to run (clock, entropy, ...) but had no visible effect."""

from __future__ import annotations

from samerun.comparing.in_play import list_used_by_code
from samerun.comparing.pairing import RecordedRun
from samerun.comparing.uncontrolled import list_uncontrolled, list_unwritten
from samerun.sources.worker_arrival import WorkerArrival

_MOST = 3  # places that are named for each source


def describe_unexplained(recorded: RecordedRun) -> str | None:
    """What of `list_uncontrolled` the code itself used; None when it used none."""
    reported = []
    for used in list_used_by_code(recorded):
        places = [f"{name} at {site or 'an unknown line'}" for name, site in used.uses]
        more = f" and {len(places) - _MOST} more" if len(places) > _MOST else ""
        reported.append(f"{used.source} ({', '.join(places[:_MOST])}{more})")
    if not reported:
        return None
    return (
        "the script uses what can change from run to run; it made no difference here, "
        f"but may in other runs: {'; '.join(reported)}"
    )


def may_agree_by_luck(recorded: RecordedRun) -> bool:
    """Whether it read memory that nothing had written, or took results in the order in which they came.

    There are few ways for that to turn out, so that a few runs may agree.
    """
    if any(True for _ in list_unwritten(recorded)):
        return True
    return any(used.source == WorkerArrival.id for used in list_uncontrolled(recorded))
