"""Where two runs begin to open other files: often all that is known of data that comes from outside torch."""

from __future__ import annotations

from samerun.runs.difference import Difference, Row, Side


def describe_opened(difference: Difference) -> str | None:
    """The first file that one run opens in the place of another, as a sentence; None when there is none."""
    for a, b in zip(_list_opened(difference.a), _list_opened(difference.b), strict=False):
        if a.process != b.process:
            return None  # workers, whose rows come in any order
        if a.detail != b.detail:
            at = f" at {a.call_site}" if a.call_site else ""
            return f"before that they open other files{at}: first {a.detail} in run A, {b.detail} in run B"
    return None


def _list_opened(side: Side) -> list[Row]:
    return [row for row in side.rows("opened") if not (row.detail or "").endswith((".py", ".pyc"))]
