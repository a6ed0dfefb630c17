from __future__ import annotations

import pytest

from samerun.explaining.opened_files import describe_opened
from samerun.runs.difference import Difference, Row, Side


def side(*files: str) -> Side:
    where = dict(step=0, phase="data", what="opened", name="open", call_site="train.py:9")
    return Side(evidence=tuple(Row(**where, detail=file) for file in files))


@pytest.mark.parametrize(
    "a, b, expected",
    [
        (("x.pt", "y.pt"), ("x.pt", "z.pt"), "first y.pt in run A, z.pt in run B"),
        (("x.pt", "y.pt"), ("x.pt", "y.pt"), None),
        (("x.pt", "y.pt"), ("x.pt",), None),  # how far the other one came
        (("a.py", "x.pt"), ("b.py", "x.pt"), None),  # code
    ],
)
def test_the_first_other_file_is_told(a: tuple[str, ...], b: tuple[str, ...], expected: str | None) -> None:
    found = describe_opened(Difference(step=0, phase="data", what="batch", a=side(*a), b=side(*b)))
    assert (
        (found is None) if expected is None else (expected in (found or "") and "train.py:9" in (found or ""))
    )
