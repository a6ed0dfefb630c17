"""Hand-made first differences, to be recognised or not."""

from __future__ import annotations

from typing import Any

from samerun.runs.difference import Difference, Origin, Row, Side

ONE, TWO = b"1" * 16, b"2" * 16


def row(what: str, name: str | None = None, *, step: int = 0, phase: str = "setup", **columns: Any) -> Row:
    return Row(step=step, phase=phase, what=what, name=name, **columns)


def side(*evidence: Row, settings: dict[str, Any] | None = None, **manifest: Any) -> Side:
    return Side(manifest=manifest, settings=settings or {}, evidence=evidence)


def origin(op: str = "aten::index_put_", **columns: Any) -> Origin:
    plain = dict(
        op=op,
        module=None,
        call_site="train.py:9",
        phase="backward",
        inputs_equal=True,
        draws=False,
        generator_differs=None,
        reads_uninitialized=False,
        first_of_process=False,
    )
    return Origin(**{**plain, **columns})


def batch(**columns: Any) -> Difference:
    """Another batch in step 0."""
    return Difference(**{"step": 0, "phase": "data", "what": "batch", "call_site": "train.py:5", **columns})


def weights(**columns: Any) -> Difference:
    """Other initial weights."""
    return Difference(**{"step": 0, "phase": "setup", "what": "parameters", **columns})


def operation(**columns: Any) -> Difference:
    """An operation of step 2 that gave other bits for equal inputs."""
    given = {"origin": origin(), **columns}
    return Difference(step=2, phase=given["origin"].phase, what="operation", op=given["origin"].op, **given)
