"""Files that one run left behind and the other found."""

from __future__ import annotations

from pathlib import Path

from samerun.comparing.leftover_files import finds
from samerun.comparing.pairing import RecordedRun, read

from .build import Builder, Record, record, training


def recorded(build: Builder, *rows: Record) -> RecordedRun:
    return read(build([*rows, *training()]))


def file(what: str, path: str) -> Record:
    return record(0, "setup", what, "open", detail=path, call_site="train.py:3")


def test_what_a_run_reads_that_the_other_wrote(tmp_path: Path) -> None:
    build = Builder(tmp_path)
    left = recorded(build, file("written", "cache.pt"), file("written", "log"))
    found = finds(recorded(build, file("opened", "data"), file("opened", "cache.pt")), left)
    assert found is not None
    assert (found.detail, found.call_site) == ("cache.pt", "train.py:3")


def test_not_what_it_wrote_itself_and_not_what_nobody_wrote(tmp_path: Path) -> None:
    build = Builder(tmp_path)
    left = recorded(build, file("written", "cache.pt"))
    assert finds(recorded(build, file("written", "cache.pt"), file("opened", "cache.pt")), left) is None
    assert finds(recorded(build, file("opened", "data")), left) is None
