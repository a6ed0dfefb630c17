"""The values in a file that a run wrote: JSON, JSON lines, CSV, arrays and tensors. Nothing in it is run."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from samerun.runs import untrusted
from samerun.runs.transient_text import strip_transient
from samerun.runs.written import Value
from samerun.tensor_files.safetensors import read_header

_MOST_TEXT = 8 << 20  # bytes of one file
_MOST_ARRAYS = 256 << 20
_MOST_VALUES = 20_000

Values = dict[str, Value]


class TooMany(ValueError):
    """A file holds more values than are kept."""


def read_values(path: Path, start: int = 0) -> Values | None:
    """The values by name, from the byte `start` on where the run added to it; None for other kinds of files.

    A text and an array are given by a digest. Raises OSError, and ValueError for what is not whole, or too
    large.
    """
    read = _READERS.get(path.suffix.lower())
    if read is None:
        return None
    most = _MOST_TEXT if path.suffix.lower() in _TEXTS else _MOST_ARRAYS
    with untrusted.open_file(path, most) as file:
        file.seek(start)
        found: Values = {}
        try:
            for name, value in read(file):
                found[name] = value
                if len(found) > _MOST_VALUES:
                    raise TooMany(f"{path} holds more than {_MOST_VALUES} values")
        except (zipfile.BadZipFile, csv.Error, LookupError, TypeError) as error:
            raise ValueError(f"{path} is not whole ({error})") from None
    return found


def digest_whole(path: Path) -> str | None:
    """The digest of a file whose values are not read, None for a text, which holds times as a rule."""
    return untrusted.digest_file(path) if path.suffix.lower() in _OPAQUE else None


def _flatten(value: Any, name: str = "") -> Iterator[tuple[str, Value]]:
    waiting = [(name, value)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, (dict, list)):
            inner = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += reversed([(f"{name}.{key}".lstrip("."), item) for key, item in inner])
        else:
            yield name, _convert(value)


def _convert(value: Any) -> Value:
    if isinstance(value, str):
        return _digest(strip_transient(value).encode("utf-8", "surrogatepass"))
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, (bool, int, float)) else None


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _read_json(file: BinaryIO) -> Iterator[tuple[str, Value]]:
    yield from _flatten(untrusted.parse_json(file.read(_MOST_TEXT).decode("utf-8")))


def _read_json_lines(file: BinaryIO) -> Iterator[tuple[str, Value]]:
    for number, line in enumerate(file):
        if line.strip():
            yield from _flatten(untrusted.parse_json(line.decode("utf-8")), str(number))


def _read_csv(file: BinaryIO, delimiter: str = ",") -> Iterator[tuple[str, Value]]:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    table = csv.reader(text, delimiter=delimiter)
    columns: list[str] = []
    for number, row in enumerate(table):
        cells = [_parse_cell(cell) for cell in row]
        if not number and all(isinstance(cell, str) for cell in cells):
            columns = row
            continue
        for at, cell in enumerate(cells):
            name = columns[at] if at < len(columns) else str(at)
            yield f"{number}.{name}", _convert(cell)
    text.detach()


def _read_tsv(file: BinaryIO) -> Iterator[tuple[str, Value]]:
    return _read_csv(file, "\t")


def _parse_cell(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell


def _read_array(file: BinaryIO) -> Iterator[tuple[str, Value]]:
    yield "array", _digest(file.read())


def _read_zipped(file: BinaryIO) -> Iterator[tuple[str, Value]]:
    """Arrays of NumPy, storages of torch.save: each entry with the checksum of what it holds."""
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            folder, _, name = entry.filename.rpartition("/")
            if entry.filename.endswith(".npy"):
                yield entry.filename.removesuffix(".npy"), f"{entry.CRC:08x} {entry.file_size}"
            elif folder.endswith("/data") or folder == "data":
                yield f"tensor {name}", f"{entry.CRC:08x} {entry.file_size}"


def _read_safetensors(file: BinaryIO) -> Iterator[tuple[str, Value]]:
    def read_at(at: int, count: int) -> bytes:
        file.seek(at)
        return file.read(count)

    for name, entry in sorted(read_header(read_at).items()):
        kind = f"{entry.kind} {list(entry.shape)} ".encode()
        yield name, _digest(kind + read_at(entry.begin, min(entry.end - entry.begin, _MOST_ARRAYS)))


_TEXTS: dict[str, Callable[[BinaryIO], Iterator[tuple[str, Value]]]] = {
    ".json": _read_json,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".csv": _read_csv,
    ".tsv": _read_tsv,
}
_READERS = {
    **_TEXTS,
    ".npy": _read_array,
    ".npz": _read_zipped,
    ".pt": _read_zipped,
    ".pth": _read_zipped,
    ".safetensors": _read_safetensors,
}
_OPAQUE = frozenset([".pkl", ".pickle", ".joblib", ".onnx", ".bin", ".parquet", ".feather"])
