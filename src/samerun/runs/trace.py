"""Writes the trace of one process, while it trains. The columns are those of runs/schema.py."""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from samerun.runs import columns
from samerun.runs.frames import MOST_ROWS, MOST_UNPACKED
from samerun.runs.schema import SCHEMA

if TYPE_CHECKING:
    import pyarrow as pa

    from samerun.runs.record import Record

META = b"samerun"  # the key of the schema's metadata
SUFFIX = ".trace.arrow"
WORDS = ("phase", "what", "name", "module", "call_site")  # the columns with a dictionary

# Measured on batches of 900 operations: lz4 is 0.1 ms faster and leaves 7% more bytes.
_COMPRESSION = "zstd"

_Signature = tuple[str, str, str | None, str | None, str | None, int]


def build_arrow_schema(meta: Mapping[str, Any]) -> pa.Schema:
    """The Arrow schema of a trace whose `samerun` metadata is `meta`, the schema's version included."""
    import pyarrow as pa

    word = pa.dictionary(pa.int32(), pa.string())
    text = json.dumps({"schema": SCHEMA, **meta}, default=str)
    return pa.schema(
        [
            ("step", pa.int32()),
            *((name, word) for name in WORDS),
            ("digest", pa.binary(16)),
            ("inputs", pa.uint64()),
            ("value", pa.float64()),
            ("flags", pa.uint8()),
            ("detail", pa.string()),
            ("parts", pa.binary()),
        ],
        metadata={META: text.encode("utf-8", "replace")},
    )


class TraceWriter:
    """Appends records to a new trace file, and never raises because of the disk.

    An OSError (disk full, read-only, no such folder) makes the writer fall silent: `failed` says why, and
    rows are dropped from then on. Not safe for two threads at once: the caller holds a lock.
    """

    def __init__(self, path: Path, meta: Mapping[str, Any]) -> None:
        import pyarrow as pa

        self.path = path
        self.failed: str | None = None
        self._closed = False
        self._signatures: dict[_Signature, int] = {}
        self._words = [_Words() for _ in WORDS]  # in the order of WORDS
        self._codes = [array("i") for _ in WORDS]  # for each signature, the code of its word
        self._flags = array("B")  # for each signature
        self._records: list[Record] = []
        self._sink = _Sink()
        self._schema = build_arrow_schema(meta)
        options = pa.ipc.IpcWriteOptions(compression=_COMPRESSION, use_threads=False)
        self._stream = pa.ipc.new_stream(pa.PythonFile(self._sink, "w"), self._schema, options=options)
        self._fd = -1
        try:
            self._fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        except OSError as error:
            self._fail(error)
        self._write_batch()  # with the schema: a process killed early leaves a trace that can be read

    def append(self, record: Record) -> None:
        """Add one record."""
        self._records.append(record)

    def flush(self) -> None:
        """Hand the records to the operating system, in batches that a reader accepts."""
        records = self._records
        for self._records in _split(records):
            self._write_batch()

    def close(self) -> None:
        """Flush, and write the end of the stream."""
        if self._closed:
            return
        self.flush()
        self._closed = True
        if self.failed is None:
            self._stream.close()
            self._write_out()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    # --- columns -----------------------------------------------------------------------------------

    def _code(self, record: Record) -> int:
        """The code of a record's combination of words and flags."""
        words_ = record.phase, record.what, record.name, record.module, record.call_site
        signature = *words_, record.flags
        known = self._signatures.get(signature)
        if known is not None:
            return known
        code = self._signatures[signature] = len(self._flags)
        for words, codes, word in zip(self._words, self._codes, words_, strict=True):
            codes.append(words.code(word))
        self._flags.append(record.flags)
        return code

    def _batch(self) -> pa.RecordBatch:
        import numpy as np
        import pyarrow as pa

        records = self._records
        kinds = np.array([self._code(record) for record in records], dtype=np.int32)
        found = [columns.build_numbers(np.array([record.step for record in records], dtype=np.int32))]
        for words, codes in zip(self._words, self._codes, strict=True):
            taken = np.array(codes, dtype=np.int32)[kinds]
            # polars refuses a negative code, even under a null
            indices = columns.build_numbers(np.maximum(taken, 0), taken >= 0)
            found.append(pa.DictionaryArray.from_arrays(indices, words.dictionary()))
        found += [
            columns.build_digests([record.digest for record in records]),
            columns.build_optional([record.inputs for record in records], np.uint64),
            columns.build_optional([record.value for record in records], np.float64),
            columns.build_numbers(np.array(self._flags, dtype=np.uint8)[kinds]),
            columns.build_texts([_clean(record.detail) for record in records]),
            columns.build_bytes([record.parts for record in records]),
        ]
        return pa.RecordBatch.from_arrays(found, schema=self._schema)

    # --- the file ----------------------------------------------------------------------------------

    def _write_batch(self) -> None:
        if self.failed is None and not self._closed:
            self._stream.write_batch(self._batch())
            self._write_out()
        self._records.clear()

    def _write_out(self) -> None:
        data = memoryview(self._sink.take())
        try:
            while data and self.failed is None:
                data = data[os.write(self._fd, data) :]
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.failed = f"{self.path}: {error.strerror or error}"
        if self._fd >= 0:
            try:
                os.close(self._fd)
            except OSError:
                pass  # the same disk
            self._fd = -1


def _split(records: list[Record]) -> Iterator[list[Record]]:
    """The records in portions that stay below the limits of runs/frames.py."""
    portion: list[Record] = []
    size = 0
    for record in records:
        more = 4 * len(record.detail or "") + len(record.parts or b"")
        if portion and (len(portion) == MOST_ROWS or size + more > MOST_UNPACKED // 2):
            yield portion
            portion, size = [], 0
        portion.append(record)
        size += more
    if portion:
        yield portion


class _Words:
    """One column's dictionary, as it grows. The code of None is -1."""

    def __init__(self) -> None:
        self._codes: dict[str | None, int] = {None: -1}
        self._array: pa.Array | None = None

    def code(self, word: str | None) -> int:
        code = self._codes.get(word)
        if code is None:
            code = self._codes[word] = len(self._codes) - 1
            self._array = None
        return code

    def dictionary(self) -> pa.Array:
        """The words in the order of their codes; the same object until one is added."""
        if self._array is None:
            self._array = columns.build_texts([_clean(word) for word in self._codes if word is not None])
        return self._array


class _Sink:
    """Keeps what Arrow writes until it goes to the disk in one piece."""

    closed = False

    def __init__(self) -> None:
        self._data = bytearray()

    def write(self, data: bytes | memoryview) -> int:
        self._data += data
        return len(data)

    def flush(self) -> None:
        """Nothing: `take` empties it."""

    def take(self) -> bytearray:
        data, self._data = self._data, bytearray()
        return data


def _clean(text: str | None) -> str | None:
    """Text that UTF-8 can hold: a file's name need not be."""
    if text is None:
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text
