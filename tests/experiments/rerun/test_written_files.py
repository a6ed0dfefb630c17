"""What a recorded run wrote is not in the copy, and nothing outside of the copy is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.comparing.pairing import read
from samerun.digest import algorithms
from samerun.experiments.rerun.written_files import copy_without_written
from samerun.runs.record import Record
from samerun.runs.schema import SCHEMA
from samerun.runs.store import Run
from samerun.runs.trace import TraceWriter


def made(folder: Path, *rows: tuple[str, str]) -> Run:
    """A run whose trace says so: opened or written, and the file."""
    folder.mkdir()
    meta = {"schema": SCHEMA, "digests": algorithms(), "tier": "steps", "stem": "rank0", "rank": 0}
    writer = TraceWriter(folder / "rank0.trace.arrow", {**meta, "role": "", "world_size": 1})
    for what, path in rows:
        writer.append(Record(0, "setup", what, "open", detail=path))
    writer.close()
    return Run(folder)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    for name in ("out/logs/one.txt", "data/read.txt", "data/new.txt", "both.txt", "later.txt", "train.py"):
        path = tmp_path / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "work"


def list_files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def test_it_lacks_what_was_written_first_and_folders_that_are_empty_then(work: Path, tmp_path: Path) -> None:
    before = list_files(work)
    run = made(
        tmp_path / "run",
        ("opened", "data/read.txt"),
        ("opened", "both.txt"),
        ("written", "both.txt"),
        ("written", "later.txt"),
        ("opened", "later.txt"),
        ("written", "data/new.txt"),
        ("written", "out/logs/one.txt"),
        ("written", "gone.txt"),
    )
    (work / "../beside.txt").touch()
    with copy_without_written(work, read(run), ["python", "train.py", "--data=../beside.txt"]) as copy:
        assert (copy / "../beside.txt").exists()
        assert before - list_files(copy) == {
            "later.txt",
            "data/new.txt",
            "out",
            "out/logs",
            "out/logs/one.txt",
        }
        assert list_files(copy) < before
    assert list_files(work) == before


def test_names_from_a_stranger_lead_nowhere(work: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "theirs.txt").write_text("kept")
    (work / "link").symlink_to(outside)
    names = [
        "link/theirs.txt",
        "../outside/theirs.txt",
        str(outside / "theirs.txt"),
        "data/../../outside/theirs.txt",
        "data",
        ".",
        "a\0b",
        "x" * 5000,
    ]
    run = made(tmp_path / "run", *(("written", name) for name in names))
    before = list_files(work)
    with copy_without_written(work, read(run), []) as copy:
        assert {"data/read.txt", "train.py", "both.txt"} <= list_files(copy)
    assert list_files(work) == before
    assert (outside / "theirs.txt").read_text() == "kept"
