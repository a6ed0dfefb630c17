"""The digests of single tensors, by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from comparing.build import NAMES, Builder, d, find, group, names, training

from samerun.comparing.pairing import read
from samerun.experiments.tensor_digests import list_unequal, read_named


def test_each_tensor_of_a_group_by_its_name(tmp_path: Path) -> None:
    rows = training()
    (trace,) = read(Builder(tmp_path)(rows)).compared
    found = read_named(trace, find(rows, "gradients", 1))
    assert found == {name: d(f"1 gradients {name}") for name in NAMES}
    assert read_named(trace, find(rows, "batch", 1)) == {}


@pytest.mark.parametrize("known", [0, 2])
def test_what_has_no_name_has_a_number(tmp_path: Path, known: int) -> None:
    row = names(0, "gradients")
    row["detail"] = '["a", "b"]' if known else "not JSON"
    (trace,) = read(Builder(tmp_path)([row, group(0, "optimizer", "gradients")])).compared
    assert list(read_named(trace, 1)) == [*"ab"[:known], *(f"SGD[{number}]" for number in range(known, 3))]


def test_those_that_differ_or_that_one_alone_has() -> None:
    assert list_unequal({"a": b"1", "b": b"2", "c": b"3"}, {"b": b"2", "c": b"4", "d": b"5"}) == [
        "a",
        "c",
        "d",
    ]
