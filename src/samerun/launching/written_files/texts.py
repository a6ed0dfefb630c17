"""Values in texts that have a form: JSON, JSON lines, CSV; other texts as they are."""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from samerun.runs import untrusted
from samerun.runs.transient_text import strip_transient
from samerun.runs.written import VALUE_OF, Value

_NAMES, _VALUES = ("name", "metric", "key", "tag"), ("value", "val")
_MOST_TEXT = 64 << 20  # bytes of one file
_MOST_HEADING = 1 << 16  # bytes of the line that names columns
_MOST_PLAIN = 1 << 20  # bytes of the end of a text without a form


def flatten(value: Any, name: str = "") -> Iterator[tuple[str, Value]]:
    """The numbers and texts in lists and objects, each by the names that lead to it."""
    waiting = [(name, value)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, (dict, list)):
            inner = _list_named(value) if isinstance(value, dict) else enumerate(value)
            waiting += reversed([(f"{name}.{key}".lstrip("."), item) for key, item in inner])
        else:
            yield name, convert(value)


def _list_named(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    texts = [value[key] for key in _NAMES if isinstance(value.get(key), str)]
    for key, item in value.items():
        yield name_value(key, texts), item


def name_value(key: str, texts: Sequence[str]) -> str:
    """The key; of a plain "value" beside texts, of which the first says what it is, that text."""
    return f"{VALUE_OF}{texts[0]}" if texts and key.lower() in _VALUES else key


def convert(value: Any) -> Value:
    """A number as it is, a text or bytes as a digest, without times, paths and ids."""
    if isinstance(value, str):
        return digest(strip_transient(value).encode("utf-8", "surrogatepass"))
    if isinstance(value, bytes):
        return digest(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, (bool, int, float)) else None


def digest(data: bytes) -> str:
    """Stands for these bytes."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def read_json(file: BinaryIO) -> Iterator[tuple[str, Value]]:
    """The values of a JSON text. Raises ValueError."""
    yield from flatten(untrusted.parse_json(file.read(_MOST_TEXT).decode("utf-8")))


def read_json_lines(file: BinaryIO) -> Iterator[tuple[str, Value]]:
    """The values of each line, by its number. Raises ValueError."""
    for number, line in enumerate(file):
        if line.strip():
            yield from flatten(untrusted.parse_json(line.decode("utf-8")), str(number))


def read_csv(file: BinaryIO, delimiter: str = ",") -> Iterator[tuple[str, Value]]:
    """The cells of a table, by the number of the row and the column's name. Raises ValueError, csv.Error.

    Rows that were added to a table have the names that its first line gives, and numbers as in a new one.
    """
    columns = _read_columns_above(file, delimiter)
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    table = csv.reader(text, delimiter=delimiter)
    first = next(table, [])
    if _is_heading(first):
        columns = first
    rows = table if _is_heading(first) else itertools.chain([first], table)
    for number, row in enumerate(rows, 1 if columns else 0):
        cells = [_parse_cell(cell) for cell in row]
        texts = [cell for cell in cells if isinstance(cell, str)]
        for at, cell in enumerate(cells):
            name = name_value(columns[at], texts) if at < len(columns) else str(at)
            yield f"{number}.{name}", convert(cell)
    text.detach()


def _read_columns_above(file: BinaryIO, delimiter: str) -> list[str]:
    """The names in the first line of a table that is read from further on; none where it has no such line."""
    start = file.tell()
    if not start:
        return []
    file.seek(0)
    line = file.readline(min(start, _MOST_HEADING)).decode("utf-8")
    file.seek(start)
    row = next(csv.reader([line], delimiter=delimiter), [])
    return row if _is_heading(row) else []


def _is_heading(row: Sequence[str]) -> bool:
    return all(isinstance(_parse_cell(cell), str) for cell in row)


def read_tsv(file: BinaryIO) -> Iterator[tuple[str, Value]]:
    """The same of columns that tabs separate."""
    return read_csv(file, "\t")


def read_plain(file: BinaryIO) -> str | None:
    """The end of a text, from its place on; None for what is no UTF-8 text."""
    start = file.tell()
    size = file.seek(0, io.SEEK_END)
    cut = max(start, size - _MOST_PLAIN)
    file.seek(cut)
    data = file.read(_MOST_PLAIN)
    if cut > start:  # in the middle of a line, or of a letter
        data = data.partition(b"\n")[2]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _parse_cell(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell
