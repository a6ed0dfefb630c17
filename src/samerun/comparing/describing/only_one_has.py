"""In words: the record that only one of two runs has, and where the other run is then."""

from __future__ import annotations

from samerun.comparing.compare_process import ProcessComparison
from samerun.comparing.pairing import RecordedRun
from samerun.runs.difference import Row


def describe_only(found: ProcessComparison, runs: tuple[RecordedRun, RecordedRun]) -> list[str]:
    """What only one run has, and, of whole runs, how many steps each makes where that is not the same."""
    a, b = (recorded.run for recorded in runs)
    notes = [_describe_record(found)]
    if a.outcome == b.outcome == "finished" and a.steps != b.steps:
        notes.append(f"run A makes {a.steps:,} optimizer steps, run B {b.steps:,}")
    return notes


def _describe_record(found: ProcessComparison) -> str:
    divergence = found.beyond or found.divergence
    assert divergence is not None
    has, lacks = ("A", "B") if divergence.a is not None else ("B", "A")
    trace, at = found.seen(divergence)
    row = trace.row(at)
    instead = found.instead() if found.beyond is None else None
    if instead is not None and _write(instead) == _write(row):  # the next of the same kind
        once_more = f"a further {_write_one(row)} in step {row.step} ({row.phase})"
        verb = "makes" if row.what == "input" else "has"
        return f"only run {has} {verb} {once_more}; run {lacks} goes on with that of step {instead.step}"
    text = f"only run {has} {_write_own(row)}"
    if found.beyond is not None:
        text += f"; run {lacks} ends without it"
    if instead is not None:
        text += f"; run {lacks} has {_write(instead)} there (different control flow)"
    return text


def _write_own(row: Row) -> str:
    if row.what == "saved" and row.name:
        return f"saves {row.name}" + (f" ({row.call_site})" if row.call_site else "")
    return f"has {_write(row)}"


def _write(row: Row) -> str:
    site = f" ({row.call_site})" if row.call_site else ""
    return f"{row.what} {row.name or ''}".rstrip() + site


def _write_one(row: Row) -> str:
    site = f" ({row.call_site})" if row.call_site else ""
    if row.what == "input":
        return f"call of the model {row.name or ''}".rstrip() + site
    return _write(row)
