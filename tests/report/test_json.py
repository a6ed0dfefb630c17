from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from samerun.errors import UsageError
from samerun.report.json import check_target, write_json

from .results import DIFFERS, SAME, UNKNOWN


def test_the_keys_are_those_of_schema_1() -> None:
    value = DIFFERS.to_json()
    assert list(value)[:6] == ["schema", "verdict", "runs", "steps", "first_difference", "causes"]
    assert value["schema"] == 1
    first = value["first_difference"]
    assert list(first)[:7] == ["step", "phase", "what", "module", "op", "call_site", "rank"]
    assert (first["step"], first["phase"], first["what"], first["call_site"]) == (
        7,
        "data",
        "batch",
        "train.py:4",
    )
    assert list(value["causes"][0])[:4] == ["source", "confirmed", "advice", "evidence"]


def test_only_a_difference_has_a_first_difference() -> None:
    assert SAME.to_json()["first_difference"] is None
    assert UNKNOWN.to_json()["first_difference"] is None
    assert replace(DIFFERS, verdict="unknown").to_json()["first_difference"] is None


def test_it_is_strict_json_whatever_the_losses(tmp_path: Path) -> None:
    result = replace(SAME, losses=({0: (math.nan, 0.5), 1: (math.inf,)},))
    write_json(result.to_json(), str(tmp_path / "x.json"))
    value = json.loads((tmp_path / "x.json").read_text(), parse_constant=lambda name: pytest.fail(name))
    assert value["losses"] == [{"0": ["nan", 0.5], "1": ["inf"]}]


def test_a_dash_is_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    write_json(SAME.to_json(), "-")
    assert json.loads(capsys.readouterr().out)["verdict"] == "same"


def test_a_target_that_cannot_be_written_is_refused_beforehand(tmp_path: Path) -> None:
    check_target(None)
    check_target("-")
    check_target(str(tmp_path / "new.json"))
    for target in (str(tmp_path), str(tmp_path / "no" / "x.json")):
        with pytest.raises(UsageError):
            check_target(target)
