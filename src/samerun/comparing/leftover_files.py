"""Files that one run left behind and the other found."""

from __future__ import annotations

from collections.abc import Iterator

from samerun.comparing.pairing import RecordedRun
from samerun.runs.difference import Row


def finds(recorded: RecordedRun, left: RecordedRun) -> Row | None:
    """Where a run first read a file that the other run wrote and itself did not, None where it never did."""
    there = {row.detail for row in _list_rows(left, "written")} - {
        row.detail for row in _list_rows(recorded, "written")
    }
    return next((row for row in _list_rows(recorded, "opened") if row.detail in there), None)


def _list_rows(recorded: RecordedRun, what: str) -> Iterator[Row]:
    for trace in (*recorded.compared, *recorded.other):
        yield from trace.rows(trace.is_one_of("what", {what}))
