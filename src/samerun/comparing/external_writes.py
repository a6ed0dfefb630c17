"""Memory that was written past torch, right where two runs diverge."""

from __future__ import annotations

from itertools import zip_longest
from typing import Literal

import msgspec

from samerun.comparing.alignment import TracePair
from samerun.runs.details import parse_detail
from samerun.runs.difference import Gap, Row
from samerun.runs.reading import Trace


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


class _GapDetail(msgspec.Struct):
    """What the detail of a gap tells of it."""

    seen_by: str | None = None
    seen_at: str | None = None
    written_by: str | None = None
    written_at: str | None = None
    tensor: str | None = None


def _read_gap(row: Row, run: Literal["a", "b"] | None) -> Gap:
    known = parse_detail(row.detail, _GapDetail) or _GapDetail()
    return Gap(met_by=row.name or "", met_at=row.call_site, run=run, **msgspec.structs.asdict(known))
