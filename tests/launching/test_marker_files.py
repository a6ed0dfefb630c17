"""The small files of a process that has no trace yet."""

from __future__ import annotations

from pathlib import Path

from samerun.launching.marker_files import PYTHON_SEEN, TORCH_SEEN, mark, name_marker


def test_a_mark_is_an_empty_file_made_once(tmp_path: Path) -> None:
    for name in (PYTHON_SEEN, name_marker("clock"), PYTHON_SEEN):
        mark(str(tmp_path), name)
    assert sorted(path.name for path in tmp_path.iterdir()) == [PYTHON_SEEN, "varied-clock.seen"]
    assert PYTHON_SEEN != TORCH_SEEN


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    mark(str(tmp_path / "gone"), TORCH_SEEN)
    assert list(tmp_path.iterdir()) == []
