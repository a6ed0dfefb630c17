"""Whether a statement of SQLite draws random numbers: by `random()` in it, or in what it reads and changes.

A view, a trigger and the default of a column draw too, and the statement does not say so. EXPLAIN lists the
functions that a statement calls, and runs nothing of it. https://www.sqlite.org/lang_explain.html
"""

from __future__ import annotations

import re
import sqlite3
from typing import Any

_DRAWS = re.compile(r"\brandom(blob)?\s*\(", re.IGNORECASE)
_ASKED = re.compile(r"\s*(with|select|values|insert|replace|update|delete)\b", re.IGNORECASE)
_MOST = 500  # texts that are looked at; programs that put values into the text have a new one each time
_explained: dict[str, bool] = {}


def draws(database: Any, statement: Any, parameters: Any = ()) -> bool:
    """Whether this statement does, on a connection or cursor that has just run it."""
    if not isinstance(statement, str):
        return False
    if _DRAWS.search(statement):
        return True
    known = _explained.get(statement)
    if known is None and len(_explained) < _MOST and _ASKED.match(statement):
        known = _explained[statement] = _calls_random(database, statement, parameters)
    return bool(known)


def _calls_random(database: Any, statement: str, parameters: Any) -> bool:
    try:
        connection = database if isinstance(database, sqlite3.Connection) else database.connection
        cursor, users = connection.cursor(), connection.text_factory
        cursor.row_factory, connection.text_factory = None, str  # no code of the user's runs
        try:
            plan = cursor.execute(f"EXPLAIN {statement}", parameters).fetchall()
        finally:
            connection.text_factory = users
    except Exception:  # the connection's owner has a say, or what it was given was read once: not known then
        return False
    return any(isinstance(cell, str) and _DRAWS.match(cell) for row in plan for cell in row)
