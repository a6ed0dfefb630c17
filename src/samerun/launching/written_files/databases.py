"""Databases of SQLite: each cell by its table, row and column."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import BinaryIO

from samerun.launching.written_files.texts import convert, name_value
from samerun.runs.written import Value

MAGIC = b"SQLite format 3\0"


def read_database(file: BinaryIO) -> Iterator[tuple[str, Value]]:
    """The cells of its tables, by `table.row.column`; the file itself is not touched.

    Raises ValueError where this Python cannot read one from memory (before 3.11), and for a damaged one.
    """
    connection = sqlite3.connect(":memory:")
    try:
        if not hasattr(connection, "deserialize"):
            raise ValueError("a database in memory is read from Python 3.11 on")
        connection.deserialize(file.read())
        query = "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by 1"
        for (table,) in connection.execute(query).fetchall():
            quoted = table.replace('"', '""')
            rows = connection.execute(f'select * from "{quoted}"')
            columns = [column[0] for column in rows.description]
            for number, row in enumerate(rows):
                texts = [cell for cell in row if isinstance(cell, str)]
                for column, cell in zip(columns, row, strict=True):
                    yield f"{table}.{number}.{name_value(column, texts)}", convert(cell)
    except sqlite3.Error as error:
        raise ValueError(f"a database that is not read: {error}") from None
    finally:
        connection.close()
