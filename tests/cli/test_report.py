"""Covers `output.py`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree as xml

import pytest
from experiments.scripts import Script
from report.diagnoses import a_case

from samerun.experiments.diagnose.storage import save

from .command import called, samerun
from .test_diff import recorded


def test_two_runs_are_held_against_each_other(tmp_path: Path) -> None:
    a, b = recorded(Script(flips=frozenset({(2, 2, "gradients")})), tmp_path)
    done = samerun("report", a.id, b.id, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "samerun-report.html" in done.stdout
    html = (tmp_path / "samerun-report.html").read_text()
    assert "2 runs diverge at step 2, in optimizer" in html
    assert "the gradients" in html


def test_equal_runs_are_the_same_in_the_report(tmp_path: Path) -> None:
    recorded(Script(), tmp_path, 3)
    done = called("report", "last~2", "last~1", "last", "-o", "x.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "3 runs gave the same bits" in (tmp_path / "x.html").read_text()


def test_one_run_is_reported_alone(tmp_path: Path) -> None:
    recorded(Script(), tmp_path, 1)
    done = called("report", "last", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "One run of 4 steps" in (tmp_path / "samerun-report.html").read_text()


def test_a_saved_diagnosis_is_shown(tmp_path: Path) -> None:
    (run,) = recorded(Script(), tmp_path, 1)
    save(a_case(tmp_path / "case").diagnosis, run)
    done = called("report", str(run.path), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    html = (tmp_path / "samerun-report.html").read_text()
    assert "3 causes: python-random, nondeterministic-kernels and threads" in html


def test_a_damaged_diagnosis_is_one_line(tmp_path: Path) -> None:
    (run,) = recorded(Script(), tmp_path, 1)
    (run.path / "diagnosis.json").write_text('{"schema": 1}')
    done = called("report", "last", cwd=tmp_path)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1 and "diagnosis.json is damaged" in done.stderr
    assert not (tmp_path / "samerun-report.html").exists()


@pytest.mark.parametrize(
    "words, said",
    [
        (["nosuch"], "No run 'nosuch'"),
        ([], "samerun report"),
        (["last", "-o", "-"], "this report goes to a file"),
        (["last", "-o", "."], "is a folder"),
        (["last", "-o", "no/x.html"], "there is no folder no"),
    ],
)
def test_bad_input_is_wrong_usage(words: list[str], said: str, tmp_path: Path) -> None:
    recorded(Script(), tmp_path, 1)
    done = called("report", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr and done.stderr.count("\n") == 1


def test_diff_writes_both_files_and_keeps_its_exit_code(tmp_path: Path) -> None:
    a, b = recorded(Script(flips=frozenset({(2, 2, "gradients")})), tmp_path)
    words = ("diff", a.id, b.id, "--html", "x.html", "--junit", "x.xml", "--json", "x.json")
    done = called(*words, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "2 runs diverge at step 2" in (tmp_path / "x.html").read_text()
    (suite,) = xml.fromstring((tmp_path / "x.xml").read_bytes())
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert json.loads((tmp_path / "x.json").read_text())["verdicts"] == ["differs"]


def test_check_refuses_files_that_cannot_be_written_before_it_runs(tmp_path: Path) -> None:
    for option in ("--html", "--junit"):
        done = called("check", option, "no/x", "--", "touch", "ran", cwd=tmp_path)
        assert done.returncode == 2 and option in done.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.slow
def test_check_writes_both_files(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import torch\n"
        "model = torch.nn.Linear(2, 1)\n"
        "optimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
        "for _ in range(3):\n"
        "    optimizer.zero_grad(); model(torch.ones(1, 2)).sum().backward(); optimizer.step()\n"
    )
    words = (
        "check",
        "--no-confirm",
        "--html",
        "x.html",
        "--junit",
        "x.xml",
        "--",
        sys.executable,
        "train.py",
    )
    done = samerun(*words, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    html = (tmp_path / "x.html").read_text()
    assert "2 runs diverge at step 0, in setup" in html and "torch-cpu" in html
    assert "Operations around the first difference" in html
    (suite,) = xml.fromstring((tmp_path / "x.xml").read_bytes())
    assert suite.get("failures") == "1"
