"""What the script used that is another value in each run, though the runs came out the same."""

from __future__ import annotations

from collections.abc import Iterator

from samerun.comparing.processes import Recorded
from samerun.runs.difference import Row
from samerun.runs.reading import Trace
from samerun.runs.schema import UNINITIALIZED
from samerun.sources._world import World
from samerun.sources.catalogue import catalogue

_MOST = 3  # places that are named for each source


def unheeded(recorded: Recorded) -> str | None:
    """Clocks, entropy, process ids and unwritten memory that the code used; None when it used none."""
    evidence = {id_: source.evidence for id_, source in catalogue().items() if isinstance(source, World)}
    used = {id_: _rows(recorded, what) for id_, what in evidence.items()}
    used["uninitialized-memory"] = _unwritten(recorded)
    said = []
    for id_, rows in used.items():
        places = list(dict.fromkeys(f"{row.name} at {row.call_site or 'an unknown line'}" for row in rows))
        if places:
            more = f" and {len(places) - _MOST} more" if len(places) > _MOST else ""
            said.append(f"{id_} ({', '.join(places[:_MOST])}{more})")
    if not said:
        return None
    return f"used by the script, and without effect in these runs: {'; '.join(said)}"


def reads_unwritten(recorded: Recorded) -> bool:
    """Whether memory was read that nothing had written: runs that agree may have found the same there."""
    return any(True for _ in _unwritten(recorded))


def _unwritten(recorded: Recorded) -> Iterator[Row]:
    yield from _rows(recorded, "unwritten")
    for trace in _traces(recorded):
        yield from trace.rows(trace.is_one_of("what", {"operation"}) & ((trace.flags & UNINITIALIZED) != 0))


def _rows(recorded: Recorded, what: str) -> Iterator[Row]:
    for trace in _traces(recorded):
        yield from trace.rows(trace.is_one_of("what", {what}))


def _traces(recorded: Recorded) -> tuple[Trace, ...]:
    return (*recorded.compared, *recorded.other)
