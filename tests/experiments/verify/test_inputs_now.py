from __future__ import annotations

import os
from pathlib import Path

import pytest

from samerun.digest import digest_bytes
from samerun.experiments.lock.named_files import digest_size
from samerun.experiments.verify import inputs_now
from samerun.experiments.verify.inputs_now import digest_now


def test_files_below_the_folder_alone_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "secret").write_text("secret")
    (folder / "data").write_text("1 2 3")
    (folder / "out").symlink_to(tmp_path / "secret")
    (folder / "up").symlink_to("..")
    (folder / "loop").symlink_to("loop")
    names = ["data", "gone", "out", "up/secret", "…/data", "folder/"]
    assert digest_now(folder, names, "file") == {"data": digest_bytes(b"1 2 3", "file").hex(), "gone": None}
    assert digest_now(folder, ["loop"], "file") in ({}, {"loop": None})  # by the version of Python


def test_what_is_no_file_has_no_digest_and_nothing_waits_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    assert digest_now(tmp_path, ["pipe", "folder"]) == {"pipe": None, "folder": None}


def test_large_files_count_by_their_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs_now, "WHOLE", 4)
    (tmp_path / "data").write_text("12345")
    assert digest_now(tmp_path, ["data"]) == {"data": digest_size(5)}
    (tmp_path / "data").write_text("1234")
    assert digest_now(tmp_path, ["data"]) == {"data": digest_bytes(b"1234").hex()}
