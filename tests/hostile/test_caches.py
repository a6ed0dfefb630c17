"""What a study kept of its earlier runs, and what a run wrote of its steps' times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from samerun.errors import RunError
from samerun.experiments.study.results_cache import FILE, Ledger
from samerun.experiments.study.tasks import Task, TaskResult
from samerun.recording.steps.step_timer import SUFFIX, step_seconds

from .test_files import BYTES, UNREADABLE, put

TASK = Task(("python", "train.py", "--token", "s3cr3t"), "/there", "/store", "loss", {})


@pytest.mark.parametrize("how", UNREADABLE)
def test_a_cache_that_cannot_be_read(tmp_path: Path, how: str) -> None:
    root = tmp_path / "a" / "b" / ".samerun"
    root.mkdir(parents=True)
    put(root / FILE, how)
    if how == "link to a secret":
        (tmp_path / "secret.txt").touch()
    with pytest.raises(RunError, match=r"studies\.jsonl cannot be read: .*Move it away"):
        Ledger(root)


@pytest.mark.parametrize("how", BYTES)
def test_a_cache_of_other_bytes_knows_nothing(tmp_path: Path, how: str) -> None:
    put(tmp_path / FILE, how)
    assert Ledger(tmp_path).get(TASK) is None


DONE = {"key": TASK.key, "value": 0.5}
LINES: dict[str, Any] = {
    "a list": [1],
    "no result": {"task": {}},
    "a result that is a word": {"done": "x"},
    "a value that is a word": {"done": {**DONE, "value": "x"}},
    "a value that is a list": {"done": {**DONE, "value": [0.5]}},
    "a value that is no number": {"done": {**DONE, "value": float("nan")}},
    "a value without an end": {"done": {**DONE, "value": float("inf")}},
    "steps that are a word": {"done": {**DONE, "steps": "9"}},
    "a key that is a number": {"done": {**DONE, "key": 5}},
    "no key": {"done": {"value": 0.5}},
}


@pytest.mark.parametrize("how", [*LINES, "deep", "a number of 6000 digits"])
def test_a_line_of_a_cache_that_is_skipped(tmp_path: Path, how: str) -> None:
    special = {"deep": '{"done":' + "[" * 100_000, "a number of 6000 digits": '{"done":' + "9" * 6000 + "}"}
    line = special[how] if how in special else json.dumps(LINES[how])
    (tmp_path / FILE).write_text(line + "\n")
    assert Ledger(tmp_path).get(TASK) is None
    (tmp_path / FILE).write_text(line + "\n" + json.dumps({"done": DONE}) + "\n")
    assert Ledger(tmp_path).get(TASK) == TaskResult(TASK.key, 0.5)


def test_a_cache_keeps_no_secret_and_knows_its_task(tmp_path: Path) -> None:
    Ledger(tmp_path).add(TASK, TaskResult(TASK.key, 0.5))
    assert "s3cr3t" not in (tmp_path / FILE).read_text()
    assert (tmp_path / FILE).stat().st_mode & 0o077 == 0
    assert Ledger(tmp_path).get(TASK) == TaskResult(TASK.key, 0.5)


@pytest.mark.parametrize("how", [*UNREADABLE, *BYTES])
def test_times_that_cannot_be_read(tmp_path: Path, how: str) -> None:
    run = tmp_path / "a" / "b" / "run"
    run.mkdir(parents=True)
    put(run / f"rank0{SUFFIX}", how)
    assert step_seconds(run) == []


@pytest.mark.parametrize("text", ['{"seconds": 5}', '{"seconds": [[]]}', "[]", '{"seconds": ' + "[" * 10**5])
def test_times_of_other_types(tmp_path: Path, text: str) -> None:
    (tmp_path / f"rank0{SUFFIX}").write_text(text)
    assert step_seconds(tmp_path) == []
