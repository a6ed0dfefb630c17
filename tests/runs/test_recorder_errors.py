"""What failed in the processes of a run is told in one line, and a broken recording is never missed."""

from __future__ import annotations

from pathlib import Path

from samerun.runs.recorder_errors import BROKEN, FAILED, complain, explain_broken, read_complaints


def test_lines_are_told_once_without_their_process_and_traceback(tmp_path: Path) -> None:
    complain(tmp_path, "a\nfailed", traceback="Traceback\n  line")
    complain(tmp_path, "a failed")
    complain(tmp_path, "b failed")
    assert "  Traceback" in (tmp_path / FAILED).read_text()
    assert read_complaints(tmp_path) == ["a failed", "b failed"]
    assert explain_broken(tmp_path) is None


def test_a_broken_recording(tmp_path: Path) -> None:
    complain(tmp_path, "one", broken=True)
    assert explain_broken(tmp_path) == "one"
    complain(tmp_path, "two", broken=True)
    assert explain_broken(tmp_path) == f"one (1 more in {BROKEN})"
    assert read_complaints(tmp_path) == []


def test_a_full_disk_leaves_an_empty_file_which_is_enough(tmp_path: Path) -> None:
    (tmp_path / BROKEN).touch()
    assert "too full to say why" in (explain_broken(tmp_path) or "")


def test_a_folder_that_is_gone_hurts_nobody(tmp_path: Path) -> None:
    complain(tmp_path / "gone", "a", broken=True)
    assert read_complaints(tmp_path / "gone") == []
