"""The plain values around a first difference."""

from __future__ import annotations

from samerun.runs.difference import Row, Side


def test_the_evidence_of_one_kind_and_name() -> None:
    rows = tuple(Row(0, "setup", what, name) for what, name in (("rng", "a"), ("rng", "b"), ("read", "a")))
    side = Side(evidence=rows)
    assert side.rows("rng") == list(rows[:2])
    assert side.rows("rng", "b") == [rows[1]]
    assert side.rows("gone") == []
