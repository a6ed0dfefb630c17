"""Small traces that would take gigabytes: each is refused in one line, before anything is unpacked."""

from __future__ import annotations

import json
import resource
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from samerun.runs.frames import MOST_ROWS, MOST_UNPACKED
from samerun.runs.reading import read_trace
from samerun.runs.record import Record
from samerun.runs.trace import TraceWriter, build_arrow_schema

from .calling import ask
from .rewriting import TRACE, write

_MIB = 1 << 20
_LIMIT = 460 * _MIB  # of address space: what the imports take, and much less than the bombs unpack to


def _one_cell(path: Path) -> None:
    """300 MiB of zeros in one cell."""
    write(path, [{"step": 0, "parts": bytes(MOST_UNPACKED + 44 * _MIB)}], {"rank": 0})


def _one_word(path: Path) -> None:
    write(path, [{"step": 0, "name": "x" * (MOST_UNPACKED + _MIB)}], {"rank": 0})


def _many_rows(path: Path) -> None:
    """More rows than a batch may have; they are all alike."""
    write_again(path, [MOST_ROWS + 1])


def _many_batches(path: Path) -> None:
    """Each batch is within the limits, but not all of them together."""
    write_again(path, [MOST_ROWS // 2] * 12)


def write_again(path: Path, counts: list[int]) -> None:
    """Batches of so many equal rows."""
    schema = build_arrow_schema({"rank": 0})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema, options=options) as stream:
        for count in counts:
            columns = [
                pa.nulls(count, field.type)
                if not pa.types.is_dictionary(field.type)
                else pa.DictionaryArray.from_arrays(pa.nulls(count, pa.int32()), pa.array(["x"]))
                for field in schema
            ]
            stream.write_batch(pa.record_batch(columns, schema=schema))


def _lie(path: Path) -> None:
    """Each packed buffer says that it unpacks to 32 TiB."""
    data = bytearray(path.read_bytes())
    at = data.find(b"\x28\xb5\x2f\xfd")
    while at != -1:
        data[at - 8 : at] = struct.pack("<q", 1 << 45)
        at = data.find(b"\x28\xb5\x2f\xfd", at + 1)
    path.write_bytes(data)


def _lie_a_little(path: Path) -> None:
    """Each packed buffer says that it unpacks to less than it does."""
    data = bytearray(path.read_bytes())
    at = data.find(b"\x28\xb5\x2f\xfd")
    while at != -1:
        data[at - 8 : at] = struct.pack("<q", 1)
        at = data.find(b"\x28\xb5\x2f\xfd", at + 1)
    path.write_bytes(data)


def _deep_head(path: Path) -> None:
    text = b'{"schema":1,"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    with pa.ipc.new_stream(str(path), build_arrow_schema({}).with_metadata({b"samerun": text})):
        pass


def _huge_head(path: Path) -> None:
    path.write_bytes(b"\xff\xff\xff\xff" + struct.pack("<i", 2**31 - 8) + bytes(64))
    with path.open("r+b") as file:
        file.truncate(1 << 32)  # a hole


def _other_columns(path: Path) -> None:
    """A type whose arrays have a length and no bytes."""
    head = build_arrow_schema({}).metadata
    schema = pa.schema([("a", pa.null())], metadata=head)
    with pa.ipc.new_stream(str(path), schema) as stream:
        stream.write_batch(pa.record_batch([pa.nulls(10**9)], schema=schema))


BOMBS: dict[str, tuple[Callable[[Path], None], str]] = {
    "one cell": (_one_cell, "unpacks to"),
    "one word": (_one_word, "unpacks to"),
    "many rows": (_many_rows, "unpacks to"),
    "many batches": (_many_batches, "unpacks to"),
    "buffers that lie": (_lie, "unpacks to"),
    "buffers that lie a little": (_lie_a_little, "is corrupt"),
    "a deep head": (_deep_head, "nested more than 100 deep"),
    "a huge head": (_huge_head, "is corrupt"),
    "a column without bytes": (_other_columns, "is corrupt"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused(folder: Path, bomb: str) -> None:
    path = folder / "runs/run1" / TRACE
    make, reason = BOMBS[bomb]
    make(path)
    assert path.stat().st_blocks * 512 < _MIB  # it is small on disk
    answer = ask(folder, "diff", "runs/run1", "runs/run2")
    assert answer.code == 3, answer
    assert answer.names(TRACE) and answer.names(reason) and answer.names("Record the run again"), answer
    assert ask(folder, "report", "runs/run1", "runs/run2").code == 0


def test_what_a_refusal_takes(folder: Path) -> None:
    """The largest bomb and the manifest of a terabyte, in a process that may have little memory."""
    for make in (_one_cell, _lie):
        make(folder / "runs/run1" / TRACE)
        said = _ask_alone(folder, "diff", "runs/run1", "runs/run2")
        assert said.returncode == 3, said
        assert "unpacks to" in " ".join(said.stdout.split())
        assert said.stderr == ""


def test_many_equal_words_take_the_place_of_one(folder: Path) -> None:
    """20,000 records with a name of 60,000 characters each: 1.2 GB, were it not one word."""
    writer = TraceWriter(folder / "runs/run1" / TRACE, {"rank": 0})
    for _ in range(20_000):
        writer.append(Record(0, "setup", "note", "x" * 60_000))
    writer.append(Record(0, "setup", "note", "recorder-error"))
    writer.append(Record(0, "forward", "loss", "backward", digest=bytes(16)))
    writer.close()
    said = _ask_alone(folder, "diff", "runs/run1", "runs/run1", limit=2 * _LIMIT)
    assert said.returncode == 3, said
    assert "broke off at step 0" in " ".join(said.stdout.split())


def _ask_alone(folder: Path, *words: str, limit: int = _LIMIT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "samerun.cli", *words],
        cwd=folder,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        env={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_long_training_is_no_bomb(tmp_path: Path) -> None:
    """Every record of it is the same, which packs best."""
    path = tmp_path / TRACE
    writer = TraceWriter(path, {"rank": 0})
    for step in range(30_000):
        for what in ("batch", "loss", "gradients", "parameters"):
            words = "forward", what, "x", None, "train.py:3"
            writer.append(Record(step, *words, bytes(16), 5, 1.5, 0, "{}", bytes(800)))
        if step % 2000 == 0:
            writer.flush()
    writer.close()
    trace = read_trace(path)
    assert len(trace) == 120_000
    assert trace.table.nbytes > 20 * path.stat().st_size


@pytest.mark.parametrize(("rows", "size"), [(3, 1 << 20), (10, 200)])
def test_a_writer_keeps_within_the_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, size: int
) -> None:
    monkeypatch.setattr("samerun.runs.trace.MOST_ROWS", rows)
    monkeypatch.setattr("samerun.runs.trace.MOST_UNPACKED", size)
    path = tmp_path / TRACE
    writer = TraceWriter(path, {"rank": 0})
    for step in range(10):
        writer.append(Record(step, "forward", "loss", detail=json.dumps([step]), parts=bytes(16)))
    writer.close()
    with pa.ipc.open_stream(str(path)) as stream:
        batches = [batch.num_rows for batch in stream]
    assert sum(batches) == 10 and max(batches) <= 3
    assert read_trace(path).steps.tolist() == list(range(10))
