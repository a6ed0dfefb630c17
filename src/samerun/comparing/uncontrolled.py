"""Which sources the script used that nothing controlled, by the evidence in a run's traces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from samerun.comparing.pairing import Recorded
from samerun.runs.difference import Row
from samerun.runs.plan import Control
from samerun.runs.reading import Trace
from samerun.runs.schema import UNINITIALIZED
from samerun.sources.catalogue import catalogue
from samerun.sources.resume_state import ResumeState
from samerun.sources.source import Kind

FILES = ResumeState.id


@dataclass(frozen=True)
class Used:
    """A source, and each of its uses: what was called, and the user's line that did."""

    source: str
    uses: tuple[tuple[str, str | None], ...]


def uncontrolled(recorded: Recorded) -> list[Used]:
    """Clocks, entropy, process ids; unwritten memory; threads, and results in the order they come."""
    used = [source for source in catalogue().values() if source.evidence]
    used.sort(key=lambda source: (source.kind is not Kind.WORLD, not source.controllable))
    found = []
    for source in used:
        some = unwritten(recorded) if source.evidence == "unwritten" else rows(recorded, source.evidence)
        uses = tuple(dict.fromkeys((row.name or "", row.call_site) for row in some))
        if uses and not is_controlled(recorded, source.id):
            found.append(Used(source.id, uses))
    return found


def left_for_the_next(recorded: Recorded) -> Used | None:
    """Files that the run read as it found them, and wrote: the next run reads something else."""
    found: dict[str, str | None] = {}
    for trace in _traces(recorded):
        read: dict[str, str | None] = {}
        own: set[str] = set()
        for row in trace.rows(trace.is_one_of("what", {"opened", "written"})):
            path = row.detail or ""
            if row.what == "opened" and path not in own:
                read.setdefault(path, row.call_site)
            elif row.what == "written":
                if path in read:
                    found.setdefault(path, read[path])
                own.add(path)
    return Used(FILES, tuple(found.items())) if found else None


def is_controlled(recorded: Recorded, id_: str) -> bool:
    """Whether the run was made with the source controlled."""
    control = recorded.run.manifest.plan.get("control")
    return control is not None and catalogue()[id_].is_controlled_by(Control.from_json(control))


def unwritten(recorded: Recorded) -> Iterator[Row]:
    """What says that memory was read, or is held, that nothing had written."""
    yield from rows(recorded, "unwritten")
    for trace in _traces(recorded):
        yield from trace.rows(trace.is_one_of("what", {"operation"}) & ((trace.flags & UNINITIALIZED) != 0))


def rows(recorded: Recorded, what: str) -> Iterator[Row]:
    """The rows of one kind of evidence, of all processes."""
    for trace in _traces(recorded):
        yield from trace.rows(trace.is_one_of("what", {what}))


def _traces(recorded: Recorded) -> tuple[Trace, ...]:
    return (*recorded.compared, *recorded.other)
