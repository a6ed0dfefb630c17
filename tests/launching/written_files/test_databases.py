"""Databases of SQLite are read by their cells."""

from __future__ import annotations

import io
import sqlite3
import sys
from pathlib import Path

import pytest

from samerun.launching.written_files.databases import read_database
from samerun.runs.written import Value

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="sqlite3 has no deserialize there")


def read(path: Path, value: float) -> dict[str, Value]:
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    connection.execute('create table "my results" (name text, value real, epoch integer)')
    connection.execute('insert into "my results" values (?, ?, ?)', ("acc", value, 3))
    connection.commit()
    connection.close()
    return dict(read_database(io.BytesIO(path.read_bytes())))


def test_each_cell_by_its_place(tmp_path: Path) -> None:
    one, same, other = (read(tmp_path / "r.db", value) for value in (0.5, 0.5, 0.25))
    assert one == same != other
    assert one["my results.0.value of acc"] == 0.5 and one["my results.0.epoch"] == 3


def test_a_damaged_one_raises() -> None:
    with pytest.raises(ValueError):
        dict(read_database(io.BytesIO(b"SQLite format 3\0" + b"x" * 200)))
