from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from samerun.errors import RunError, UsageError
from samerun.experiments.study import metric

PRINTED = "epoch 0: accuracy 0.5\nepoch 1: accuracy 0.75\n"


def test_the_last_match_in_the_output_counts(tmp_path: Path) -> None:
    assert metric.read(r"accuracy ([\d.]+)", PRINTED, tmp_path) == 0.75


def test_a_number_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "score.txt").write_text(" 1e-3\n")
    assert metric.read("file:score.txt", "", tmp_path) == 1e-3


def test_a_key_in_a_json_file(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(json.dumps({"test": [{"accuracy": 0.25}]}))
    assert metric.read("json:result.json:test.0.accuracy", "", tmp_path) == 0.25


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("loss ([0-9]+)", "matches nothing"),
        ("file:none.txt", "cannot be read"),
        ("json:result.json:test.loss", "no 'loss' in it"),
        ("json:bad.json:test", "is not JSON"),
        (r"epoch \d: (\w+)", "'accuracy' is not a number"),
        ("file:nan.txt", "no place in a variance"),
    ],
)
def test_what_is_not_there_is_said(wanted: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(json.dumps({"test": {"accuracy": 1}}))
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "nan.txt").write_text("nan")
    with pytest.raises(RunError, match=said):
        metric.read(wanted, PRINTED, tmp_path)


@pytest.mark.parametrize("wanted", ["accuracy", "(a)(b)", "accuracy (", "json:result.json", "file:"])
def test_what_can_never_be_found_is_refused_before_any_run(wanted: str) -> None:
    with pytest.raises(UsageError, match="--metric"):
        metric.check(wanted)


@pytest.mark.parametrize("wanted", ["file:score.txt", "json:score.txt:0"])
def test_a_file_that_the_run_did_not_write_is_no_metric(wanted: str, tmp_path: Path) -> None:
    """As where it writes to an absolute path, and a copy of the folder has what an earlier run left."""
    (tmp_path / "score.txt").write_text("[0.5]" if wanted.startswith("json") else "0.5")
    before = metric.read_state(wanted, tmp_path)
    with pytest.raises(RunError, match=r"this run did not write score\.txt, which was there before"):
        metric.read(wanted, "", tmp_path, before)
    (tmp_path / "new.txt").write_text((tmp_path / "score.txt").read_text())
    os.replace(tmp_path / "new.txt", tmp_path / "score.txt")
    assert metric.read(wanted, "", tmp_path, before) == 0.5
