"""What the script used that is another value in each run, though the runs came out the same."""

from __future__ import annotations

from collections.abc import Iterator

from samerun.comparing.processes import Recorded
from samerun.runs.difference import Row
from samerun.runs.plan import Control
from samerun.runs.reading import Trace
from samerun.runs.schema import UNINITIALIZED
from samerun.sources._world import World
from samerun.sources.catalogue import catalogue

_MOST = 3  # places that are named for each source


def unheeded(recorded: Recorded) -> str | None:
    """What of this the code used, and nothing controlled; None when it used none.

    Clocks, entropy and process ids; unwritten memory; threads, and results in the order in which they come.
    """
    evidence = {id_: source.evidence for id_, source in catalogue().items() if isinstance(source, World)}
    used = {id_: _rows(recorded, what) for id_, what in evidence.items()}
    used["uninitialized-memory"] = _unwritten(recorded)
    used["worker-arrival"] = _rows(recorded, "arrival")
    used["thread-scheduling"] = _rows(recorded, "threads")
    said = []
    for id_, rows in used.items():
        if _is_controlled(recorded, id_):
            continue
        places = list(dict.fromkeys(f"{row.name} at {row.call_site or 'an unknown line'}" for row in rows))
        if places:
            more = f" and {len(places) - _MOST} more" if len(places) > _MOST else ""
            said.append(f"{id_} ({', '.join(places[:_MOST])}{more})")
    if not said:
        return None
    return f"used by the script, and without effect in these runs: {'; '.join(said)}"


def may_agree_by_luck(recorded: Recorded) -> bool:
    """Whether it read memory that nothing had written, or took results in the order in which they came.

    There are few ways for that to turn out, so that a few runs may agree.
    """
    if any(True for _ in _unwritten(recorded)):
        return True
    return not _is_controlled(recorded, "worker-arrival") and any(True for _ in _rows(recorded, "arrival"))


def _is_controlled(recorded: Recorded, id_: str) -> bool:
    control = recorded.run.manifest.plan.get("control")
    return control is not None and catalogue()[id_].is_controlled_by(Control.from_json(control))


def _unwritten(recorded: Recorded) -> Iterator[Row]:
    yield from _rows(recorded, "unwritten")
    for trace in _traces(recorded):
        yield from trace.rows(trace.is_one_of("what", {"operation"}) & ((trace.flags & UNINITIALIZED) != 0))


def _rows(recorded: Recorded, what: str) -> Iterator[Row]:
    for trace in _traces(recorded):
        yield from trace.rows(trace.is_one_of("what", {what}))


def _traces(recorded: Recorded) -> tuple[Trace, ...]:
    return (*recorded.compared, *recorded.other)
