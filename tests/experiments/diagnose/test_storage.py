"""Covers `result.py`."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from comparing.build import Builder, training
from report.diagnoses import HOSTILE, a_case

from samerun.errors import RunError, SchemaError
from samerun.experiments.diagnose.result import Diagnosis
from samerun.experiments.diagnose.storage import FILE, load, save
from samerun.runs.store import Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Builder(tmp_path)(training())


@pytest.mark.parametrize("brings", ["", HOSTILE])
def test_what_is_saved_is_read_back(brings: str, run: Run, tmp_path: Path) -> None:
    diagnosis = a_case(tmp_path / "case", brings).diagnosis
    save(diagnosis, run)
    back = load(run)
    assert back is not None
    assert back.to_json() == diagnosis.to_json()
    assert back.check.losses == diagnosis.check.losses
    assert back.found[0].growth == diagnosis.found[0].growth
    assert back.check.folder == "/there"  # where the run was made, by its manifest
    assert diagnosis.patch is not None
    assert (run.path / "fix.patch").read_text() == diagnosis.patch.diff != ""
    changed = replace(diagnosis, recorded=diagnosis.recorded + 1)
    assert back.to_json() != changed.to_json()


def test_losses_that_are_no_numbers_are_read_back(run: Run, tmp_path: Path) -> None:
    diagnosis = a_case(tmp_path / "case").diagnosis
    losses = ({0: (math.nan, 0.1), 3: (math.inf,)}, {0: (-math.inf,)})
    save(replace(diagnosis, check=replace(diagnosis.check, losses=losses)), run)
    back = load(run)
    assert back is not None
    assert repr(back.check.losses) == repr(losses)


def test_a_run_without_one_has_none(run: Run) -> None:
    assert load(run) is None


def of(run: Run, diagnosis: Diagnosis) -> dict[str, Any]:
    save(diagnosis, run)
    value: dict[str, Any] = json.loads((run.path / FILE).read_text())
    return value


@pytest.mark.parametrize(
    "where, wrong",
    [
        (("verdict",), "perhaps"),
        (("runs",), []),
        (("runs",), [1]),
        (("losses",), [{"0": [1.0]}]),
        (("losses",), [{"x": [1.0]}, {}]),
        (("losses",), {"0": 1}),
        (("steps",), "many"),
        (("found",), None),
        (("found", 0, "difference", "step"), "first"),
        (("found", 0, "difference", "kind"), "odd"),
        (("found", 0, "pair"), ["one"]),
        (("found", 0, "growth", "distances", 0, "loss"), "big"),
        (("found", 0, "ledger", 0, "draws_a"), None),
        (("patch",), []),
        (("patch", "verified"), "yes"),
        (("causes", 0), {}),
    ],
)
def test_a_damaged_one_is_refused_with_its_place(
    where: tuple[str | int, ...], wrong: object, run: Run, tmp_path: Path
) -> None:
    whole = of(run, a_case(tmp_path / "case").diagnosis)
    value: Any = whole
    for name in where[:-1]:
        value = value[name]
    value[where[-1]] = wrong
    (run.path / FILE).write_text(json.dumps(whole))
    with pytest.raises(RunError, match=f"{FILE} is damaged .*samerun diagnose"):
        load(run)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, "\udcff"])
def test_what_is_no_json_object_is_refused(text: str, run: Run) -> None:
    (run.path / FILE).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(RunError):
        load(run)


def test_another_schema_is_refused_by_name(run: Run, tmp_path: Path) -> None:
    value = of(run, a_case(tmp_path / "case").diagnosis)
    (run.path / FILE).write_text(json.dumps({**value, "schema": 99}))
    with pytest.raises(SchemaError, match="99"):
        load(run)


def test_what_a_later_samerun_adds_is_passed_over(run: Run, tmp_path: Path) -> None:
    diagnosis = a_case(tmp_path / "case").diagnosis
    value = of(run, diagnosis)
    value["more"] = value["found"][0]["more"] = 1
    (run.path / FILE).write_text(json.dumps(value))
    back = load(run)
    assert back is not None and back.to_json() == diagnosis.to_json()
