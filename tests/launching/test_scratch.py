"""The copy has what the command needs, keeps the original unchanged, and goes away."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from samerun.errors import UsageError
from samerun.launching.scratch import scratch_copy


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "project"
    (work / "data" / "deep").mkdir(parents=True)
    (work / "data" / "deep" / "x.txt").write_text("x")
    (work / ".samerun" / "runs").mkdir(parents=True)
    (work / ".venv").mkdir()
    (work / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin")
    (tmp_path / "big").mkdir()
    (tmp_path / "big" / "data.bin").write_text("big")
    (work / "data" / "big").symlink_to("../../big")
    (work / "inside").symlink_to("data/deep")
    (work / "absolute").symlink_to(work / "data" / "deep")
    os.mkfifo(work / "pipe")
    return work


def test_files_are_copied_and_what_is_written_there_stays_there(work):
    with scratch_copy(work) as copy:
        assert copy.name == work.name
        (copy / "data" / "deep" / "x.txt").write_text("changed")
        (copy / "checkpoint").write_text("new")
    assert (work / "data" / "deep" / "x.txt").read_text() == "x"
    assert not (work / "checkpoint").exists()
    assert not copy.exists()


def test_links_inside_stay_inside_and_links_out_lead_to_the_original(work):
    with scratch_copy(work) as copy:
        for name in ("inside", "absolute"):
            assert (copy / name / "x.txt").resolve() == copy / "data" / "deep" / "x.txt"
        assert (copy / "data" / "big" / "data.bin").read_text() == "big"


def test_runs_and_pipes_are_left_out_and_environments_are_linked_to(work):
    with scratch_copy(work) as copy:
        assert sorted(path.name for path in copy.iterdir()) == [".venv", "absolute", "data", "inside"]
        assert (copy / ".venv").readlink() == work / ".venv"


def test_what_cannot_be_copied_is_wrong_usage(work, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(UsageError, match=r"cannot be copied.*without --scratch"), scratch_copy(work / "gone"):
        pass
    assert not list(tmp_path.glob("samerun-scratch-*"))
