"""Which file of one run is which of another."""

from __future__ import annotations

import pytest

from samerun.comparing.paired_files import list_pairs
from samerun.runs.written import WrittenFile


def files(**values: float) -> dict[str, WrittenFile]:
    return {
        f"runs/{name}/m.json": WrittenFile("train.py:3", {"accuracy": value})
        for name, value in values.items()
    }


@pytest.mark.parametrize(
    ("one", "other", "paired"),
    [
        ({"a": 1.0}, {"a": 2.0}, {"a": "a"}),
        ({"20261127_7a8915": 1.0}, {"20261128_b138f7": 2.0}, {"20261127_7a8915": "20261128_b138f7"}),
        ({"7a891526": 1.0, "b138f7dc": 2.0}, {"00000000": 2.0, "e81f2a99": 3.0}, {"7a891526": "e81f2a99"}),
        ({"7a891526": 1.0, "b138f7dc": 2.0}, {"00000000": 4.0, "e81f2a99": 3.0}, {}),
        ({"7a891526": 1.0, "b138f7dc": 2.0}, {"e81f2a99": 3.0}, {}),
    ],
)
def test_files_belong_together(
    one: dict[str, float], other: dict[str, float], paired: dict[str, str]
) -> None:
    found = {
        mine.split("/")[1]: its.split("/")[1] for mine, _, its, _ in list_pairs(files(**one), files(**other))
    }
    assert found == paired
