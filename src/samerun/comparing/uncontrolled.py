"""Which sources the script used that nothing controlled, by the evidence in a run's traces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from samerun.comparing.pairing import RecordedRun
from samerun.editing.edit import NoEdit
from samerun.runs.difference import Row, Side
from samerun.runs.manifest import Manifest
from samerun.runs.plan import Control
from samerun.runs.reading import Trace
from samerun.runs.schema import HELD, STEADY, UNINITIALIZED
from samerun.sources.catalogue import find_sources
from samerun.sources.evidence.rows import is_in_helper, read_code
from samerun.sources.listing_order import MOVED, ListingOrder
from samerun.sources.resume_state import ResumeState
from samerun.sources.source import Kind

if TYPE_CHECKING:
    from samerun.editing.user_program import Code

FILES = ResumeState.id


@dataclass(frozen=True)
class SourceUse:
    """A source, and each of its uses: what was called, and the user's line that did."""

    source: str
    uses: tuple[tuple[str, str | None], ...]


def list_uncontrolled(recorded: RecordedRun) -> list[SourceUse]:
    """Clocks, entropy, process ids; unwritten memory; threads, and results in the order they come."""
    used = [source for source in find_sources().values() if source.evidence]
    used.sort(key=lambda source: (source.kind is not Kind.WORLD, not source.controllable))
    found = []
    for source in used:
        some = (
            list_unwritten(recorded)
            if source.evidence == "unwritten"
            else list_rows(recorded, source.evidence)
        )
        if source.kind is Kind.ORDER:  # in a program that does not train, what it writes counts
            some = (row for row in some if not is_in_helper(row))
        uses = tuple(dict.fromkeys((row.name or "", row.call_site) for row in some if row.detail != STEADY))
        if uses and is_controlled(recorded, source.id):
            uses = tuple(use for use in uses if source.is_beyond_control(use[0]))
        if uses:
            found.append(SourceUse(source.id, uses))
    return found


def list_held(recorded: RecordedRun) -> list[Row]:
    """The script's own lines that would have changed what is controlled, and were not done: once each."""
    found: dict[tuple[str | None, str | None], Row] = {}
    for trace in _list_traces(recorded):
        for row in trace.rows(trace.is_one_of("what", {"note"}) & trace.is_one_of("name", {HELD})):
            found.setdefault((row.detail, row.call_site), row)
    return list(found.values())


def find_left_files(recorded: RecordedRun) -> SourceUse | None:
    """Files that the run read as it found them, and wrote: the next run reads something else."""
    found: dict[str, str | None] = {}
    for trace in _list_traces(recorded):
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
    return SourceUse(FILES, tuple(found.items())) if found else None


def list_moved(recorded: RecordedRun) -> list[str]:
    """The lines whose listings the control put in another order, and that do not sort them: call sites."""
    if not is_controlled(recorded, ListingOrder.id):
        return []
    rows = (row for row in list_rows(recorded, "listing") if int(row.value or 0) & MOVED)
    sites = list(dict.fromkeys(row.call_site for row in rows if row.call_site is not None))
    code = read_code(Side(recorded.run.manifest.to_dict(), recorded.run.manifest.settings)) if sites else None
    return [site for site in sites if code is None or _leaves_order(code, site)]


def _leaves_order(code: Code, site: str) -> bool:
    """Whether the code at a line goes through a listing in its order, as far as it can be read."""
    from samerun.sources.edits import listings

    try:
        return bool(listings.sort_at(code, site))
    except (NoEdit, ValueError, LookupError, AttributeError, TypeError, RecursionError):
        return True


def is_controlled(recorded: RecordedRun, id_: str) -> bool:
    """Whether the run was made with the source controlled."""
    return find_sources()[id_].is_controlled_by(read_control(recorded.run.manifest))


def read_control(manifest: Manifest) -> Control | None:
    """What a run was controlled with; None where that is nothing, or is not known any more."""
    control = manifest.plan.get("control")
    try:
        return None if control is None else Control.from_json(control)
    except (KeyError, TypeError, AttributeError):  # it was damaged
        return None


def list_unwritten(recorded: RecordedRun) -> Iterator[Row]:
    """What says that memory was read, or is held, that nothing had written."""
    yield from list_rows(recorded, "unwritten")
    for trace in _list_traces(recorded):
        yield from trace.rows(trace.is_one_of("what", {"operation"}) & ((trace.flags & UNINITIALIZED) != 0))


def list_rows(recorded: RecordedRun, what: str) -> Iterator[Row]:
    """The rows of one kind of evidence, of all processes."""
    for trace in _list_traces(recorded):
        yield from trace.rows(trace.is_one_of("what", {what}))


def _list_traces(recorded: RecordedRun) -> tuple[Trace, ...]:
    return (*recorded.compared, *recorded.other)
