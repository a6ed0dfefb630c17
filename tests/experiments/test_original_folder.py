"""The folder as it was before the runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from samerun.experiments.original_folder import copy_folder, copy_without_new, list_folder


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("train.py", "data/a.txt", ".venv/pyvenv.cfg", ".samerun/runs/one"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def test_what_is_new_is_not_in_the_copy_and_stays_where_it_is(folder: Path) -> None:
    before = list_folder(folder)
    assert before is not None
    for name in ("last.pt", "data/b.txt", "runs/1/log.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("new")
    (folder / "latest").symlink_to("runs/1")
    (folder / "data" / "a.txt").write_text("changed")
    whole = names(folder)
    (folder / "../beside.txt").touch()
    with copy_without_new(folder, before, ["cat", "../beside.txt"]) as copy:
        assert copy is not None and (copy / "../beside.txt").exists()
        assert copy is not None
        assert names(copy) == {"train.py", "data", "data/a.txt", ".venv"}
        assert (copy / "data" / "a.txt").read_text() == "changed"
        assert (copy / ".venv" / "pyvenv.cfg").exists()
    assert names(folder) == whole
    assert not copy.exists()


def test_too_much_is_not_copied(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = list_folder(folder)
    assert before is not None
    monkeypatch.setattr("samerun.experiments.original_folder._MOST_BYTES", 5)
    with copy_folder(folder, []) as copy:
        assert copy is None
    with copy_without_new(folder, before, []) as copy:
        assert copy is None
    monkeypatch.setattr("samerun.experiments.original_folder._MOST_FILES", 3)
    assert list_folder(folder) is None


def test_what_cannot_be_copied_costs_the_proof_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copytree", full)
    with copy_folder(folder, []) as copy:
        assert copy is None
