"""A file replaced, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from samerun.editing.replacing import write_anew


def test_the_mode_stays_and_other_links_keep_the_old_content(tmp_path: Path) -> None:
    path, other = tmp_path / "train.py", tmp_path / "other.py"
    path.write_bytes(b"old")
    path.chmod(0o750)
    os.link(path, other)
    write_anew(path, b"new")
    assert (path.read_bytes(), other.read_bytes()) == (b"new", b"old")
    assert path.stat().st_mode & 0o777 == 0o750
    assert sorted(os.listdir(tmp_path)) == ["other.py", "train.py"]


def test_what_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        write_anew(path, b"new")
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"old", ["train.py"])
