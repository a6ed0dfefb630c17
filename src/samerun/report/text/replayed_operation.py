"""What came of running the first operation that differs again, alone, as words."""

from __future__ import annotations

from samerun.comparing.replayed_operation import Replay, Way


def describe_probe(probed: Replay) -> list[str]:
    """A line for the operation, then one for each way in which it was run again."""
    if not probed.ways:
        return [f"{probed.op} could not be run again alone: {probed.why or 'no way was recorded'}"]
    lines = [f"{probed.op} on the same inputs gave", *map(_describe_way, probed.ways)]
    return [*lines, probed.why] if probed.why else lines


def _describe_way(way: Way) -> str:
    if way.error is not None:
        return f"{way.way}: {way.error}"
    results = f"{way.distinct} result{'' if way.distinct == 1 else 's'}"
    times = f"{way.runs} run{'' if way.runs == 1 else 's'}"
    return f"{way.way}: {results} in {times}{'' if way.equal else ', never that of the training'}"
