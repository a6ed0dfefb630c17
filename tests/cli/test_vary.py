"""`samerun vary` and `samerun cost` as a user calls them.

Covers `cost.py`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from samerun.cli.arguments import find_verbs, parse
from samerun.cli.vary import Vary
from samerun.runs.plan import Control

from .command import called, samerun
from .training import TRAIN


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["vary", "--factors", "thread", "--", "true"], "there is no such source"),
        (["vary", "--budget", "soon", "--", "true"], "is not a time"),
        (["vary"], "no command to run"),
        (["cost", "--rounds", "1", "--", "true"], "1 is too few"),
        (["study", "--", "true"], "--metric"),
        (["study", "--metric", "loss", "--", "true"], "has 0 groups"),
        (["study", "--metric", "(.)", "--seeds", "3", "--", "true"], "3 is too few"),
        (["study", "--metric", "(.)", "--address", "a:1", "--", "true"], "add --launcher ray"),
        (["study", "--metric", "(.)", "--sources", "threads", "--", "true"], "no seed to vary"),
        (["study", "--metric", "(.)", "--against", "a 'b", "--", "true"], "is no command line"),
    ],
)
def test_a_wrong_request_is_one_line_and_exit_code_2(words: list[str], said: str, tmp_path: Path) -> None:
    done = called(*words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "control"),
    [
        ("", None),
        ("--seed 3", Control(seed=3)),
        ("--mode seeded", Control("seeded")),
        ("--control clock", Control(extra=("clock",))),
    ],
)
def test_what_is_asked_of_the_control_controls(
    words: str, control: Control | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, options = parse(["vary", *words.split(), "--", "true"], find_verbs())
    assert Vary().request(options).control == control


def test_a_command_that_fails_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("raise ValueError('no data')\n")
    done = called("vary", "--factors", "hostname", "--", sys.executable, "bad.py", cwd=tmp_path)
    assert done.returncode == 3
    assert "the command failed in every run" in done.stdout
    assert "ValueError: no data" in done.stdout


@pytest.mark.slow
def test_a_dependence_ends_in_exit_code_1_a_table_and_json(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    command = (
        "vary",
        "--factors",
        "torch-cpu,hostname",
        "--json",
        "out.json",
        "--",
        sys.executable,
        "train.py",
    )
    done = samerun(*command, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    value = json.loads((tmp_path / "out.json").read_text())
    assert value["verdict"] == "differs"
    factors = {factor["source"]: factor for factor in value["factors"]}
    assert factors["torch-cpu"]["verdict"] == "differs"
    assert factors["hostname"]["verdict"] == "same"
    assert factors["torch-cpu"]["first_difference"]["step"] == 0
    assert "depends on torch-cpu" in done.stdout
