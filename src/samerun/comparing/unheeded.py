"""What the script used that is another value in each run, though the runs came out the same."""

from __future__ import annotations

from samerun.comparing.processes import Recorded
from samerun.sources._world import World
from samerun.sources.catalogue import catalogue

_MOST = 3  # places that are named for each source


def unheeded(recorded: Recorded) -> str | None:
    """Clocks, entropy, process ids and unwritten memory that the code used; None when it used none."""
    evidence = {id_: source.evidence for id_, source in catalogue().items() if isinstance(source, World)}
    said = []
    for id_, what in (*evidence.items(), ("uninitialized-memory", "unwritten")):
        places: dict[str, None] = {}
        for trace in (*recorded.compared, *recorded.other):
            for row in trace.rows(trace.is_one_of("what", {what})):
                places.setdefault(f"{row.name} at {row.call_site or 'an unknown line'}")
        if places:
            more = f" and {len(places) - _MOST} more" if len(places) > _MOST else ""
            said.append(f"{id_} ({', '.join(list(places)[:_MOST])}{more})")
    if not said:
        return None
    return f"used by the script, and without effect in these runs: {'; '.join(said)}"
