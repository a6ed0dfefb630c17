"""The values in a file that a run wrote, by its form. Nothing in it is run."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from samerun.launching.written_files import arrays, databases, events, images, tables, texts
from samerun.runs import untrusted
from samerun.runs.secrets_in_text import hide_in_text
from samerun.runs.written import BEYOND, Value, WrittenFile

_MOST_VALUES = 20_000  # that are kept one by one
_MOST_READ = 1_000_000
_MOST_NAMES = 2_000  # of those beyond
_MOST_UNPACKED = 64 << 20  # bytes
_LARGEST = 256 << 20  # bytes of a file that is read whole
_ANY_SIZE = 2**63 - 1
_DEEPEST = 2  # packed files in one another

Reader = Callable[[BinaryIO], Iterator[tuple[str, Value]]]


def read_written(path: Path, start: int = 0) -> WrittenFile:
    """What a file holds: values by name, the text of one without a form, or a digest of what is not read.

    A text is read from the byte `start` on, where the run added to it. Raises OSError.
    """
    with untrusted.open_file(path, _ANY_SIZE) as file:
        with contextlib.suppress(Exception):
            # Damaged, too large, in a form that is not read, or a library fell over it.
            return _read(file, path.name, start)
        return WrittenFile(None, digest=_digest_ends(file))


def _digest_ends(file: BinaryIO) -> str:
    """Stands for a file: all of it, or of a large one its size, its beginning and its end."""
    size = file.seek(0, io.SEEK_END)
    parts = ((0, size),) if size <= _LARGEST else ((0, _LARGEST // 2), (size - _LARGEST // 2, _LARGEST // 2))
    made = hashlib.sha256(str(size).encode())
    for at, left in parts:
        file.seek(at)
        while left > 0 and (chunk := file.read(min(left, 1 << 20))):
            made.update(chunk)
            left -= len(chunk)
    return made.hexdigest()


def holds_data(path: Path) -> bool:
    """Whether the name says that a file holds data, not a text for people."""
    return path.suffix.lower() in _DATA or path.name.startswith(events.PREFIX)


def _read(file: BinaryIO, name: str, start: int = 0, depth: int = 0) -> WrittenFile:
    head = file.read(16)
    file.seek(0)
    suffix = Path(name).suffix.lower()
    if head.startswith(b"\x1f\x8b") and depth < _DEEPEST:
        unpacked = gzip.GzipFile(fileobj=file).read(_MOST_UNPACKED)
        return _read(io.BytesIO(unpacked), Path(name).stem, 0, depth + 1)
    if suffix in _TEXTS:
        file.seek(start)
        with contextlib.suppress(ValueError, LookupError, TypeError):  # it is not of that form
            return WrittenFile(None, _collect(_TEXTS[suffix](file)))
    elif (reader := _find_reader(name, suffix, head)) is not None:
        if reader not in _IN_PARTS and _measure(file) > _LARGEST:
            raise ValueError(f"a file of more than {_LARGEST} bytes")
        return WrittenFile(None, _collect(reader(file)))
    elif head.startswith(b"PK") and depth < _DEEPEST:
        return _read_zipped(file, depth)
    file.seek(start)
    text = texts.read_plain(file)
    if text is None:
        raise ValueError("a form that is not known")
    return WrittenFile(None, text=hide_in_text(text))


def _measure(file: BinaryIO) -> int:
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    return size


def _find_reader(name: str, suffix: str, head: bytes) -> Reader | None:
    if name.startswith(events.PREFIX):
        return events.read_events
    by_head = (reader for start, reader in _BY_HEAD.items() if head.startswith(start))
    if suffix in _MAYBE_SAVED and head.startswith(b"PK"):
        return arrays.read_saved
    return _BY_SUFFIX.get(suffix) or next(by_head, None)


def _read_zipped(file: BinaryIO, depth: int) -> WrittenFile:
    """The values in each file of a zip file; its digest is that of their contents, without dates."""
    found: dict[str, Value] = {}
    whole = hashlib.sha256()
    left = _MOST_UNPACKED
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            whole.update(f"{entry.filename} {entry.CRC} {entry.file_size} ".encode("utf-8", "replace"))
            if not holds_data(Path(entry.filename)) or entry.file_size > left:
                continue
            left -= entry.file_size
            with archive.open(entry) as inner, contextlib.suppress(Exception):  # as in `read_written`
                content = io.BytesIO(inner.read(entry.file_size))
                values = _read(content, entry.filename, 0, depth + 1).values
                found.update({f"{entry.filename}.{name}": value for name, value in values.items()})
    return WrittenFile(None, found, whole.hexdigest())


def _collect(values: Iterator[tuple[str, Value]]) -> dict[str, Value]:
    """The first of them by name; of those beyond a limit, one digest for all of the same last name.

    Raises ValueError for so many that it would take long to go through them.
    """
    found: dict[str, Value] = {}
    beyond: dict[str, hashlib.blake2b] = {}
    for count, (name, value) in enumerate(values):
        if count >= _MOST_READ:
            raise ValueError(f"more than {_MOST_READ} values")
        if len(found) < _MOST_VALUES:
            found[name] = value
            continue
        last = name.rpartition(".")[2]
        if last not in beyond and len(beyond) >= _MOST_NAMES:
            last = ""
        beyond.setdefault(last, hashlib.blake2b(digest_size=16)).update(f"{name} {value!r} ".encode())
    return found | {BEYOND + last: made.hexdigest() for last, made in beyond.items()}


_TEXTS: dict[str, Reader] = {
    ".json": texts.read_json,
    ".jsonl": texts.read_json_lines,
    ".ndjson": texts.read_json_lines,
    ".csv": texts.read_csv,
    ".tsv": texts.read_tsv,
}
_BY_SUFFIX: dict[str, Reader] = {
    ".npy": arrays.read_array,
    ".npz": arrays.read_arrays,
    ".pt": arrays.read_saved,
    ".pth": arrays.read_saved,
    ".ckpt": arrays.read_saved,
    ".pkl": arrays.read_saved,
    ".pickle": arrays.read_saved,
    ".safetensors": arrays.read_safetensors,
    **dict.fromkeys(images.SUFFIXES, images.read_image),
}
_IN_PARTS = (arrays.read_arrays, arrays.read_saved, arrays.read_safetensors, events.read_events)
_BY_HEAD: dict[bytes, Reader] = {
    databases.MAGIC: databases.read_database,
    images.PNG: images.read_image,
    tables.PARQUET: tables.read_parquet,
    tables.FEATHER: tables.read_feather,
    tables.HDF5: tables.read_hdf5,
}
_MAYBE_SAVED = frozenset([".bin", ".model", ".tar", ""])  # what torch.save writes under other names
_DATABASES = frozenset([".db", ".sqlite", ".sqlite3", ".duckdb"])
_TABLES = frozenset([".parquet", ".feather", ".arrow", ".h5", ".hdf5", ".nc", ".mat", ".zip", ".gz"])
_DATA = frozenset([*_TEXTS, *_BY_SUFFIX, *_DATABASES, *_TABLES])
