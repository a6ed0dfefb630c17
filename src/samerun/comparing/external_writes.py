"""Memory that was written past torch, right where two runs part."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any, Literal

from samerun.comparing.alignment import TracePair
from samerun.runs.difference import Gap, Row
from samerun.runs.reading import Trace
from samerun.runs.untrusted import parse_json


def find_gap(paired: TracePair, at_a: int | None, at_b: int | None) -> Gap | None:
    """The first gap that the records at these positions met and that differs between the runs."""
    rows_a, rows_b = _list_before(paired.a, at_a), _list_before(paired.b, at_b)
    for a, b in zip_longest(rows_a, rows_b):
        if a is None or b is None:
            return _read_gap(a or b, "a" if b is None else "b")
        if a.digest is None or a.digest != b.digest:
            return _read_gap(a, None)
    return None


def _list_before(trace: Trace, at: int | None) -> list[Row]:
    """The gaps written right before a record, in order."""
    found: list[Row] = []
    while at is not None and at > 0 and trace.cell("what", at - 1) == "gap":
        at -= 1
        found.append(trace.row(at))
    return found[::-1]


def _read_gap(row: Row, run: Literal["a", "b"] | None) -> Gap:
    try:
        said = parse_json(row.detail or "")
    except ValueError:
        said = {}
    known: dict[str, Any] = said if isinstance(said, dict) else {}

    def text(key: str) -> str | None:
        value = known.get(key)
        return value if isinstance(value, str) else None

    return Gap(
        met_by=row.name or "",
        met_at=row.call_site,
        seen_by=text("seen_by"),
        seen_at=text("seen_at"),
        written_by=text("written_by"),
        written_at=text("written_at"),
        tensor=text("tensor"),
        run=run,
    )
