"""Writes a trace again with other records or another head, past what the recorder would ever write."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from samerun.runs.trace import build_arrow_schema

TRACE = "rank0.trace.arrow"
Row = dict[str, Any]


def rewrite(
    run: Path,
    change: Callable[[Row], object] = lambda row: None,
    *,
    meta: Mapping[str, Any] | None = None,
) -> None:
    """Change each record of a run's first trace, and what it says of itself."""
    with pa.ipc.open_stream(str(run / TRACE)) as stream:
        rows = stream.read_all().to_pylist()
        said = json.loads(stream.schema.metadata[b"samerun"])
    for row in rows:
        change(row)
    write(run / TRACE, rows, {**said, **(meta or {})})


def write(path: Path, rows: list[Row], meta: Mapping[str, Any]) -> None:
    """One batch of these rows, packed."""
    schema = build_arrow_schema(meta)
    columns = []
    for field in schema:
        values = [row.get(field.name) for row in rows]
        if pa.types.is_dictionary(field.type):
            column = pa.array(values, type=field.type.value_type).dictionary_encode().cast(field.type)
        else:
            column = pa.array(values, type=field.type)
        columns.append(column)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema, options=options) as stream:
        stream.write_batch(pa.record_batch(columns, schema=schema))
