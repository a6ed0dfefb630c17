"""What is noted of a file that is opened to write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from samerun.recording.evidence_log import Journal
from samerun.recording.opened_files import Files
from samerun.runs.plan import Plan


class Notes(Journal):
    def __init__(self, folder: Path) -> None:
        super().__init__(Plan(run=str(folder / "run")))
        self.values: list[float | None] = []

    def note(self, what: str, name: str, *, value: float | None = None, **columns: Any) -> None:
        if what == "written":
            self.values.append(value)


@pytest.mark.parametrize(
    ("mode", "flags", "size", "noted"),
    [
        ("w", os.O_WRONLY | os.O_TRUNC, 6, None),
        ("a", os.O_WRONLY, 6, 6.0),
        ("a", os.O_WRONLY, None, 0.0),  # it is not there yet
        ("r+", os.O_RDWR, 6, None),
        (None, os.O_WRONLY | os.O_APPEND, 6, 6.0),
        (None, os.O_WRONLY, 6, None),
    ],
)
def test_a_file_that_is_added_to_has_its_size(
    tmp_path: Path, mode: str | None, flags: int, size: int | None, noted: float | None
) -> None:
    path = tmp_path / "log.csv"
    if size is not None:
        path.write_bytes(b"x" * size)
    journal = Notes(tmp_path)
    Files(journal).opened((str(path), mode, flags))
    assert journal.values == [noted]


def test_the_first_time_counts(tmp_path: Path) -> None:
    journal, path = Notes(tmp_path), tmp_path / "log.csv"
    files = Files(journal)
    for text in ("one", "more"):
        files.opened((str(path), "a", os.O_WRONLY))
        path.write_text(text)
    assert journal.values == [0.0]
