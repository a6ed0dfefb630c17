"""Traces whose records hold what no recorder writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .calling import ask
from .rewriting import TRACE, Row, rewrite

_ESCAPES = "\x1b]0;pwn\x07<script>alert(1)</script>\u202e\n\r"


def put(kind: str | None = None, /, **values: Any) -> Callable[[Row], None]:
    """Give the records of this kind, or all, these values."""

    def change(row: Row) -> None:
        if kind in (None, row["what"]):
            row.update(values)

    return change


REFUSED = {
    "the least step": put(step=-(2**31)),
    "a negative step": put("loss", step=-2),
    "a name of a megabyte": put("loss", name="x" * 1_000_000),
}
ODD = {
    "a step far away": put("parameters", step=2**31 - 1),
    "all steps far away": put(step=2**31 - 1),
    "steps before the first": put(step=-1),
    "an unknown phase": put(phase="\x1b[31mevil"),
    "no phase": put(phase=None),
    "no kind": put("batch", what=None),
    "an unknown kind": put("loss", what="secret"),
    "only operations": put(what="operation"),
    "a loss that is no number": put("loss", value=float("nan")),
    "a loss without an end": put("loss", value=float("-inf")),
    "a loss near the largest number": put("loss", value=1.7e308),
    "no value": put(value=None),
    "names with escapes": put(name=_ESCAPES, module=_ESCAPES),
    "a long name": put(name="x" * 60_000, module="y" * 60_000),
    "a detail of a thousand brackets": put(detail="[" * 1000),
    "a detail of 100,000 brackets": put(detail="[" * 100_000),
    "a detail of 6000 digits": put(detail="9" * 6000),
    "a detail of 50 digits": put(detail="9" * 50),
    "a detail of other types": put(detail='{"workers":"x","samples":{"a":1},"batch":[],"function":[]}'),
    "a detail of lists": put(detail='{"lines":[["a"]],"n":-1,"digest":7,"first":"x","draws":{"a":"b"}}'),
    "a detail that is a number": put(detail="5"),
    "a detail that is a list": put(detail='[1,null,{"a":2}]'),
    "a detail without an end": put(detail='{"workers":Infinity,"rank":NaN,"dtype":1e999}'),
    "no detail": put(detail=None),
    "parts of three bytes": put(parts=b"abc"),
    "parts of 5000 tensors": put(parts=b"x" * 16 * 5000),
    "no digest": put(digest=None),
    "all flags": put(flags=255),
    "a rank of 50 digits": put(what="note", name="rank", detail='{"rank":%s,"world_size":-1}' % ("9" * 50)),
    "a gap of other types": put("operation", what="gap", detail='{"seen_at":[1]}'),
    "values of another type": put(what="values", detail='{"dtype":"\\u0000","count":-1}', parts=b"abc"),
    "a probe of other types": put(what="probe", detail='{"ways":[{"way":[]}]}'),
}


@pytest.mark.parametrize("how", REFUSED)
def test_records_that_are_refused(folder: Path, how: str) -> None:
    rewrite(folder / "runs/run1", REFUSED[how])
    answer = ask(folder, "diff", "runs/run1", "runs/run2")
    assert answer.code == 3, answer
    assert answer.names(TRACE) and answer.names("is corrupt (it has"), answer
    assert ask(folder, "report", "runs/run1", "runs/run2").code == 0


OPS = "run3", "run4"  # which hold the records of steps too
AT_STEPS = ("step", "loss", "phase", "kind", "digest")  # where what the operations say is missed


def at_steps(how: str) -> Any:
    marks = [] if any(word in how for word in AT_STEPS) else [pytest.mark.slow]
    return pytest.param(how, ("run1", "run2"), marks=marks, id=f"{how}-steps")


@pytest.mark.parametrize(
    "how, runs", [*(pytest.param(how, OPS, id=f"{how}-ops") for how in ODD), *map(at_steps, ODD)]
)
def test_records_that_are_odd(folder: Path, how: str, runs: tuple[str, str]) -> None:
    a, b = (f"runs/{run}" for run in runs)
    rewrite(folder / a, ODD[how])
    assert ask(folder, "diff", a, b).code in (1, 3)
    rewrite(folder / b, ODD[how])
    assert ask(folder, "diff", a, b).code in (0, 1, 3)
    assert ask(folder, "report", a, b, "-o", "page.html").code == 0
    assert "<script>alert(1)" not in (folder / "page.html").read_text()


@pytest.mark.parametrize("how", [how for how in ODD if "step" in how])
def test_steps_far_away_in_both_runs(folder: Path, how: str) -> None:
    """The runs differ, and the page draws how their difference grows."""
    for run in ("run1", "run2"):
        rewrite(folder / "runs" / run, ODD[how])
    assert ask(folder, "diff", "runs/run1", "runs/run2").code == 1
    assert ask(folder, "report", "runs/run1", "runs/run2").code == 0
