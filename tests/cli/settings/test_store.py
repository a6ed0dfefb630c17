"""Where the runs of a verb are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.cli.settings.store import store_to_record
from samerun.runs.store import Store


def test_in_this_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert store_to_record().create().is_relative_to(tmp_path / ".samerun" / "runs")


def test_among_the_temporary_files_where_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    work, temporary = tmp_path / "work", tmp_path / "temporary"
    work.mkdir(), temporary.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.setattr(Store, "refusal", lambda _: "read-only")
    assert store_to_record().create().is_relative_to(temporary)
    assert "cannot be written (read-only); runs are kept in" in capsys.readouterr().err
