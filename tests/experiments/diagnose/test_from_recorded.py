from __future__ import annotations

from pathlib import Path

import pytest
from comparing.build import Builder, find, flip, training
from report.diagnoses import a_case

from samerun.errors import RunError
from samerun.experiments.check.diff import diff
from samerun.experiments.diagnose.from_recorded import diagnose_runs, select_parted
from samerun.experiments.diagnose.storage import save
from samerun.runs.store import Run, Store


@pytest.fixture
def build(tmp_path: Path) -> Builder:
    return Builder(tmp_path)


def differing(build: Builder, step: int) -> Run:
    return build(training(), change=lambda rows: flip(rows[find(rows, "loss", step)]))


def test_one_run_is_told_alone_and_gets_no_verdict(build: Builder, tmp_path: Path) -> None:
    diagnosis = diagnose_runs([build(training(), steps=3)], Store(tmp_path))
    assert diagnosis.check.verdict == "unknown"
    assert diagnosis.found == () and not diagnosis.complete
    assert diagnosis.check.losses == ({0: (1.0,), 1: (0.5,), 2: (1 / 3,)},)


def test_one_run_with_a_diagnosis_shows_that(build: Builder, tmp_path: Path) -> None:
    run = build(training())
    case = a_case(tmp_path / "case")
    save(case.diagnosis, run)
    assert diagnose_runs([run], Store(tmp_path)).to_json() == case.diagnosis.to_json()


def test_equal_runs_are_the_same(build: Builder, tmp_path: Path) -> None:
    runs = [build(training()) for _ in range(3)]
    diagnosis = diagnose_runs(runs, Store(tmp_path))
    assert diagnosis.check.verdict == "same"
    assert diagnosis.check.verdicts == ("same", "same")
    assert diagnosis.found == ()


def test_of_several_runs_the_earliest_difference_is_told(build: Builder, tmp_path: Path) -> None:
    runs = [build(training()), differing(build, 2), build(training()), differing(build, 1)]
    result = diff(Store(tmp_path), runs)
    assert result.verdict == "differs"
    assert result.verdicts == ("differs", "same", "differs")
    assert result.difference is not None and result.difference.step == 1
    assert result.pair == (str(runs[0].path), str(runs[3].path))
    assert select_parted(result) == (runs[0].id, runs[3].id)
    assert len(result.losses) == 4


def test_a_run_that_failed_is_never_the_same(build: Builder, tmp_path: Path) -> None:
    runs = [
        build(training()),
        build(training()),
        build(training(how="raised"), outcome="failed", exit_code=1),
    ]
    result = diff(Store(tmp_path), runs)
    assert result.verdict == "unknown"
    assert "run 3 of 3" in (result.reason or "")


def test_a_damaged_manifest_is_an_error(build: Builder, tmp_path: Path) -> None:
    runs = [build(training()), build(training())]
    (runs[1].path / "manifest.json").write_text("{")
    with pytest.raises(RunError):
        diagnose_runs([runs[0], Run(runs[1].path)], Store(tmp_path))
