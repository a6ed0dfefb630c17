"""Reads a trace back, whoever wrote it and however its process ended."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from samerun.errors import SchemaError, TraceError
from samerun.runs import columns, frames, rests, untrusted
from samerun.runs.difference import Row
from samerun.runs.schema import DERIVED, SCHEMA
from samerun.runs.trace import META, SUFFIX, WORDS, build_arrow_schema

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    Ints = npt.NDArray[np.int32] | npt.NDArray[np.int64]
    Bools = npt.NDArray[np.bool_]

MOST_BYTES = 8 << 30  # of one trace: twelve million steps with ten records each
_LONGEST_WORD = 1 << 16  # characters
_VALUES = ("step", "digest", "inputs", "value", "flags", "detail")
_ROW = (*_VALUES, *WORDS)


class Column(NamedTuple):
    """A column as arrays, one row for each record."""

    values: npt.NDArray[np.uint64]  # zeros where there is none
    there: Bools  # bool[n]: whether there is one


@dataclass(frozen=True)
class Trace:
    """The records of one process, in the order in which they were written."""

    path: Path
    meta: Mapping[str, Any]
    table: pa.Table  # the columns of runs/schema.py; one dictionary for each column of words
    complete: bool  # whether the process wrote all that it did

    @property
    def stem(self) -> str:
        """The process, such as "rank0" or "rank0.worker1"."""
        return self.path.name.removesuffix(SUFFIX)

    @property
    def rank(self) -> int:
        """The rank of the process."""
        rank = self.meta.get("rank", 0)
        return rank if isinstance(rank, int) else 0

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def words(self, column: str) -> list[str]:
        """The dictionary of a column of words, in the order of its codes."""
        return self._words[column]

    def codes(self, column: str) -> Ints:
        """int32[n]: the code of each record's word, -1 for none."""
        codes = self._codes.get(column)
        if codes is None:
            codes = self._codes[column] = columns.read_numbers(self._column(column).indices, -1)
        return codes

    def is_one_of(self, column: str, words: Collection[str]) -> Bools:
        """bool[n]: whether each record's word is among these."""
        import numpy as np

        known = self.words(column)
        table = np.array([word in words for word in known] + [False])  # the last one for -1
        return table[self.codes(column)]

    @cached_property
    def steps(self) -> Ints:
        """int64[n]."""
        return self._numbers("step", 0)

    @cached_property
    def flags(self) -> Ints:
        """int64[n]."""
        return self._numbers("flags", 0)

    @cached_property
    def digests(self) -> Column:
        """uint64[n, 2]."""
        import numpy as np

        column = self._column("digest")
        there = columns.read_known(column)
        data = column.buffers()[1]
        whole = np.frombuffer(data, np.uint64) if data is not None else np.zeros(0, np.uint64)
        words = whole.reshape(-1, 2)[column.offset : column.offset + len(column)].copy()
        if len(words) < len(column):  # no buffer at all: every one is null
            words = np.zeros((len(column), 2), np.uint64)
        words[~there] = 0
        return Column(words, there)

    @cached_property
    def inputs(self) -> Column:
        """uint64[n]."""
        column = self._column("inputs")
        return Column(columns.read_numbers(column, 0), columns.read_known(column))

    def cell(self, column: str, index: int) -> Any:
        """One value, None where there is none."""
        return self.table.column(column)[index].as_py()

    def row(self, index: int) -> Row:
        """One record."""
        return Row(**{name: self.cell(name, index) for name in _ROW}, process=self.stem)

    def rows(self, mask: Bools) -> list[Row]:
        """The records where bool[n] is true, in order."""
        chosen = self.table.select(_VALUES).filter(columns.build_truths(mask)).to_pylist()
        # Of each word one object, however often it stands there: a megabyte is not to become a gigabyte.
        words = [([*self.words(name), None], self.codes(name)[mask].tolist()) for name in WORDS]
        return [
            Row(
                **values,
                **{name: known[codes[at]] for name, (known, codes) in zip(WORDS, words, strict=True)},
                process=self.stem,
            )
            for at, values in enumerate(chosen)
        ]

    def parts(self, mask: Bools) -> list[bytes | None]:
        """The digests of single tensors, or the sample, of the records where bool[n] is true."""
        found: list[bytes | None] = self.table.column("parts").filter(columns.build_truths(mask)).to_pylist()
        return found

    def with_columns(self, changed: Mapping[str, Sequence[Any]]) -> Trace:
        """The same records, with other values in these columns, which are none of words."""
        import pyarrow as pa

        table = self.table
        for column, values in changed.items():
            field = table.schema.field(column)
            at = table.schema.get_field_index(column)
            table = table.set_column(at, field, [pa.array(values, field.type)])
        return replace(self, table=table)

    def losses(self) -> dict[int, tuple[float, ...]]:
        """The losses of each step, in order.

        In a step with a `backward()` not what `torch.autograd.grad` derived: the terms of a physical
        equation, or of a gradient penalty.
        """
        found: dict[int, tuple[float, ...]] = {}
        rows = [row for row in self.rows(self.is_one_of("what", {"loss"})) if row.value is not None]
        passed = {row.step for row in rows if row.name != DERIVED}
        for row in rows:
            if row.value is not None and (row.name != DERIVED or row.step not in passed):
                found[row.step] = (*found.get(row.step, ()), row.value)
        return found

    def _column(self, name: str) -> pa.Array:
        import pyarrow as pa

        column = self.table.column(name)
        if column.num_chunks == 0:  # not one batch is whole
            return pa.array([], column.type)
        return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)

    @cached_property
    def _words(self) -> dict[str, list[str]]:
        return {name: self._column(name).dictionary.to_pylist() for name in WORDS}

    @cached_property
    def _codes(self) -> dict[str, Ints]:
        return {}

    def _numbers(self, name: str, missing: int) -> Ints:
        import numpy as np

        numbers: Ints = columns.read_numbers(self._column(name), missing).astype(np.int64)
        return numbers


def read_trace(path: Path) -> Trace:
    """The trace in this file, up to its last whole batch.

    Raises TraceError when the file cannot be read as a trace, SchemaError for a version not known here.
    """
    try:
        with untrusted.open_file(path, MOST_BYTES) as file:
            return _adopt_rank(_read_open(path, file))
    except OSError as error:
        raise TraceError(
            f"The trace {path} cannot be read: {error.strerror or error}. "
            "Copy it again from where it was made, or record the run again."
        ) from None


def _read_open(path: Path, file: BinaryIO) -> Trace:
    import pyarrow as pa

    size = os.fstat(file.fileno()).st_size
    try:
        extent = frames.find_whole(file, size)
    except ValueError as error:
        raise _make_corrupt_error(path, error) from None
    if extent.frames == 0:
        raise TraceError(
            f"The trace {path} ends after {size} bytes, before its first record: its process was killed "
            "at the start. Record the run again."
        )
    file.seek(0)
    whole = pa.PythonFile(_Part(file, extent.length), "r")
    try:
        # Batches are small: threads cost more than they save.
        options = pa.ipc.IpcReadOptions(use_threads=False)
        with pa.ipc.open_stream(whole, options=options) as stream:
            meta = _read_meta(path, stream.schema)
            if not stream.schema.equals(build_arrow_schema({}), check_metadata=False):
                raise _make_corrupt_error(path, f"its columns are {stream.schema.names}")
            batches = []
            for batch in stream:
                batch.validate(full=True)  # a file may come from a stranger: no index may lead outside
                batches.append(batch)
        table = pa.Table.from_batches(batches, stream.schema).unify_dictionaries().combine_chunks()
    except MemoryError:
        raise TraceError(
            f"The trace {path} does not fit into the memory of this machine. Read it on one that has more."
        ) from None
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise _make_corrupt_error(path, error) from None
    trace = Trace(path, meta, table, extent.complete or rests.is_marked(path))
    if len(trace) and trace.steps.min() < -1:  # the setup may stand there, and nothing before it
        raise _make_corrupt_error(path, f"it has steps {trace.steps.min()} to {trace.steps.max()}")
    longest = max((len(word) for name in WORDS for word in trace.words(name) if word is not None), default=0)
    if longest > _LONGEST_WORD:
        raise _make_corrupt_error(path, f"it has a name of {longest} characters")
    return trace


class _Part:
    """The start of a file, for Arrow."""

    closed = False

    def __init__(self, file: BinaryIO, length: int) -> None:
        self._file = file
        self._left = length

    def read(self, count: int = -1) -> bytes:
        data = self._file.read(self._left if count < 0 else min(count, self._left))
        self._left -= len(data)
        return data


def _adopt_rank(trace: Trace) -> Trace:
    """The trace as of the rank that its process found itself to be after it had begun."""
    if "rank" not in trace.words("name"):
        return trace
    found = trace.rows(trace.is_one_of("what", {"note"}) & trace.is_one_of("name", {"rank"}))
    try:
        said = untrusted.parse_json(found[-1].detail or "")
        rank, world_size = int(said["rank"]), int(said["world_size"])
    except (IndexError, ValueError, KeyError, TypeError):
        return trace
    identity = str(trace.meta.get("pair", "")).split("|", 1)
    pair = {"pair": f"{rank}|{identity[1]}"} if len(identity) == 2 else {}
    return replace(trace, meta={**trace.meta, "rank": rank, "world_size": world_size, **pair})


def _read_meta(path: Path, schema: pa.Schema) -> dict[str, Any]:
    text = (schema.metadata or {}).get(META)
    meta = None if text is None else untrusted.parse_json(text.decode())
    if not isinstance(meta, dict) or "schema" not in meta:
        raise TraceError(
            f"{path} is an Arrow stream, but not a trace of samerun's: it has no `samerun` metadata."
        )
    if meta["schema"] != SCHEMA:
        raise SchemaError(
            f"The trace {path} has schema {meta['schema']!r}; this samerun knows {SCHEMA}. "
            "Install the samerun that wrote it, or record the run again."
        )
    return meta


def _make_corrupt_error(path: Path, found: object) -> TraceError:
    said = str(found).strip().splitlines()
    return TraceError(
        f"The trace {path} is corrupt ({said[0] if said else type(found).__name__}). "
        "Record the run again, or copy it again from where it was made."
    )
