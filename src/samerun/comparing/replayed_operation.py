"""An operation that was run again alone: what to aim at, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from samerun.comparing.pairing import read
from samerun.runs.difference import Difference
from samerun.runs.plan import Probe
from samerun.runs.store import Run
from samerun.runs.untrusted import parse_json


@dataclass(frozen=True)
class Way:
    """What came of running it again in one way, on the inputs that it had in the training."""

    way: str  # for people: "as it is", "deterministic", "first call of a process", "later calls, 1 thread", …
    runs: int
    distinct: int  # different results of these runs
    equal: int  # runs whose result is what the training got
    error: str | None = None  # why it did not run: in deterministic mode, that it has no such implementation


@dataclass(frozen=True)
class Replay:
    """One operation, run again alone where it ran."""

    op: str
    step: int
    phase: str
    module: str | None
    call_site: str | None
    ways: tuple[Way, ...]  # () when its inputs could not be kept
    why: str = ""  # why ways are missing

    def to_json(self) -> Mapping[str, Any]:
        """Plain values."""
        return asdict(self)


def read_probe(run: Run, rank: int = 0) -> Replay | None:
    """What the plan's probe found in a run; None when there was none, or the operation was not reached."""
    for trace in read(run).compared:
        if trace.rank != rank:
            continue
        for row in trace.rows(trace.is_one_of("what", {"probe"})):
            ways, why = _parse_detail(row.detail)
            return Replay(row.name or "", row.step, row.phase, row.module, row.call_site, ways, why)
    return None


def _parse_detail(detail: str | None) -> tuple[tuple[Way, ...], str]:
    try:
        said = parse_json(detail or "")
        return tuple(Way(**way) for way in said["ways"]), str(said.get("why", ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        return (), "the record of it is damaged"


def aim(run: Run, difference: Difference) -> Probe | None:
    """The probe for the operation of a first difference, counted as in `run`; None for any other record.

    None, too, for an operation that only one run has.
    """
    if difference.op is None or difference.what != "operation" or difference.kind != "value":
        return None
    trace = run.traces().get(difference.process)
    if trace is None:
        return None
    there = trace.is_one_of("what", {"operation"}) & trace.is_one_of("name", {difference.op})
    there &= trace.steps == difference.step
    there[difference.place :] = False
    place = difference.phase, difference.module, difference.call_site
    before = [row for row in trace.rows(there) if (row.phase, row.module, row.call_site) == place]
    return Probe(difference.step, difference.op, *place, nth=len(before))
