"""The trace on disk: what is written is read back, whatever happened to the process or the file.

Covers `frames.py`, `reading.py`, `record.py` and `schema.py`.
"""

from __future__ import annotations

import collections
import os
import random
import resource
import struct
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samerun.errors import SchemaError, TraceError
from samerun.runs.difference import Row
from samerun.runs.reading import Trace, read_trace
from samerun.runs.record import Record
from samerun.runs.schema import COMPARED, EVIDENCE, PHASES, SCHEMA
from samerun.runs.trace import TraceWriter, build_arrow_schema


def everything(trace: Trace) -> list[Row]:
    return trace.rows(np.ones(len(trace), bool))


def small(path: Path, batches: int = 3, *, close: bool = True) -> list[Row]:
    """Write a few rows of every kind; returns them as they must come back."""
    writer = TraceWriter(path, {"tier": "steps", "rank": 0})
    rows = []
    for batch in range(batches):
        for n in range(4):
            columns: dict[str, Any] = {
                "step": batch,
                "phase": PHASES[n],
                "what": COMPARED[n],
                "name": f"name{batch}" if n else None,
                "module": "a.b" if n == 1 else None,
                "call_site": "train.py:3" if n == 2 else None,
                "digest": bytes([batch, n] * 8) if n != 3 else None,
                "inputs": 2**64 - 1 - n if n == 1 else None,
                "value": n / 3 if n == 2 else None,
                "flags": n,
                "detail": "päth" if n == 3 else None,
            }
            writer.append(Record(**columns, parts=b"p" * 32 if n == 0 else None))
            rows.append(Row(**columns, process=path.name.removesuffix(".trace.arrow")))
        writer.flush()
    if close:
        writer.close()
    return rows


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rank0.trace.arrow"


def test_round_trip(path: Path) -> None:
    rows = small(path)
    trace = read_trace(path)
    assert everything(trace) == rows
    assert trace.complete
    assert trace.stem == "rank0"
    assert dict(trace.meta) == {"schema": SCHEMA, "tier": "steps", "rank": 0}
    assert trace.cell("parts", 0) == b"p" * 32
    assert trace.cell("parts", 1) is None
    assert trace.row(2) == rows[2]


WORD = st.none() | st.text(max_size=4)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {
                "step": st.integers(-1, 2**31 - 1),
                "phase": st.sampled_from(PHASES),
                "what": st.sampled_from(COMPARED + EVIDENCE),
                "name": WORD,
                "module": WORD,
                "call_site": WORD,
                "digest": st.none() | st.binary(min_size=16, max_size=16),
                "inputs": st.none() | st.integers(0, 2**64 - 1),
                "value": st.none() | st.floats(allow_nan=False),
                "flags": st.integers(0, 255),
                "detail": st.none() | st.text(max_size=5),
            }
        ),
        max_size=20,
    ),
    flushes=st.sets(st.integers(0, 20)),
)
def test_any_rows_round_trip(tmp_path_factory: pytest.TempPathFactory, rows: list, flushes: set[int]) -> None:
    path = tmp_path_factory.mktemp("trace") / "x.trace.arrow"
    writer = TraceWriter(path, {})
    for at, row in enumerate(rows):
        writer.append(Record(**row))
        if at in flushes:
            writer.flush()
    writer.close()
    trace = read_trace(path)
    assert everything(trace) == [Row(**row, process="x") for row in rows]
    words, there = trace.digests
    for at, row in enumerate(rows):
        assert there[at] == (row["digest"] is not None)
        assert words[at].tobytes() == (row["digest"] or bytes(16))
        assert (trace.inputs[0][at] if trace.inputs[1][at] else None) == row["inputs"]
        for column in ("phase", "what", "name", "module", "call_site"):
            code = trace.codes(column)[at]
            assert (trace.words(column)[code] if code >= 0 else None) == row[column]


def test_columns_as_arrays(path: Path) -> None:
    small(path)
    trace = read_trace(path)
    assert trace.steps.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]
    assert trace.flags.tolist() == [0, 1, 2, 3] * 3
    assert trace.is_one_of("module", {"a.b", "absent"}).tolist() == [False, True, False, False] * 3


def test_several_batches(path: Path) -> None:
    writer = TraceWriter(path, {})
    writer.append(Record(0, "forward", "operation", "a", digest=b"y" * 16))
    writer.append(Record(0, "forward", "operation", "b", digest=b"x" * 16, inputs=5))
    writer.flush()
    writer.append(Record(0, "forward", "operation", "c"))
    writer.close()
    assert [(row.digest, row.inputs) for row in everything(read_trace(path))] == [
        (b"y" * 16, None),
        (b"x" * 16, 5),
        (None, None),
    ]


def test_a_file_name_that_is_no_text(path: Path) -> None:
    writer = TraceWriter(path, {"argv": ["train\udcff.py"]})
    writer.append(Record(0, "setup", "opened", "a\udcff", detail=os.fsdecode(b"caf\xe9.txt")))
    writer.close()
    (row,) = everything(read_trace(path))
    assert (row.name, row.detail) == ("a\\udcff", "caf\\udce9.txt")


def test_opens_elsewhere(path: Path) -> None:
    duckdb, pd, pl = (pytest.importorskip(name) for name in ("duckdb", "pandas", "polars"))
    rows = small(path)
    frame = pl.read_ipc_stream(path)
    assert frame["name"].cast(pl.String).to_list() == [row.name for row in rows]
    assert frame["module"].cast(pl.String).to_list() == [row.module for row in rows]
    assert frame["digest"].to_list() == [row.digest for row in rows]
    with pa.ipc.open_stream(path.read_bytes()) as stream:
        records = stream.read_all()
    pandas = records.to_pandas()
    assert [None if pd.isna(name) else name for name in pandas["name"]] == [row.name for row in rows]
    found = duckdb.sql("select step, name, value from records where what = 'output' order by step").fetchall()
    assert found == [(row.step, row.name, row.value) for row in rows if row.what == "output"]


# --- killed, cut, corrupt ---------------------------------------------------------------------------------


def test_read_while_it_is_written(path: Path) -> None:
    rows = small(path, close=False)
    trace = read_trace(path)
    assert everything(trace) == rows
    assert not trace.complete


def test_killed_before_the_first_record(path: Path) -> None:
    TraceWriter(path, {"rank": 3})
    trace = read_trace(path)
    assert (len(trace), trace.complete, trace.rank) == (0, False, 3)


def test_killed_with_signal_9(path: Path) -> None:
    script = textwrap.dedent(
        f"""
        import os, signal
        from pathlib import Path
        from samerun.runs.record import Record
        from samerun.runs.trace import TraceWriter
        writer = TraceWriter(Path({str(path)!r}), {{}})
        for step in range(10):
            writer.append(Record(step, "forward", "loss", "backward", value=float(step)))
            if step % 4 == 3:
                writer.flush()
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    done = subprocess.run([sys.executable, "-c", script])
    assert done.returncode == -9
    trace = read_trace(path)
    assert [row.step for row in everything(trace)] == list(range(8))
    assert not trace.complete


@pytest.mark.slow
def test_cut_at_every_byte(path: Path, tmp_path: Path) -> None:
    rows = small(path, 2)
    whole = path.read_bytes()
    cut = tmp_path / "cut" / path.name
    cut.parent.mkdir()
    seen = set()
    for length in range(len(whole)):
        cut.write_bytes(whole[:length])
        try:
            trace = read_trace(cut)
        except TraceError:
            assert not seen, "a longer file must not be less readable"
            continue
        assert not trace.complete
        if len(trace) not in seen:
            assert everything(trace) == rows[: len(trace)]
            seen.add(len(trace))
    assert seen == {0, 4, 8}


def test_corrupt_bytes_never_do_more_than_raise(path: Path, tmp_path: Path) -> None:
    small(path)
    whole = path.read_bytes()
    bad = tmp_path / "bad" / path.name
    bad.parent.mkdir()
    choose = random.Random(0)
    refused = 0
    places = choose.sample(range(len(whole)), 1500)
    for at in places:
        changed = bytearray(whole)
        changed[at] ^= choose.randrange(1, 256)
        bad.write_bytes(changed)
        try:
            everything(read_trace(bad))
        except (TraceError, SchemaError):
            refused += 1
    assert len(places) // 10 < refused < len(places)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "ends after 0 bytes"),
        (b"\xff\xff", "ends after 2 bytes"),
        (b"PK\x03\x04 something else", "does not begin a frame"),
        (b"\xff\xff\xff\xff" + struct.pack("<i", -5), "has a head of -5 bytes"),
        (b"\xff\xff\xff\xff" + struct.pack("<i", 8) + b"\xff" * 8, "does not say how long it is"),
        (b"\xff\xff\xff\xff" + struct.pack("<i", 0), "ends after 8 bytes"),
    ],
)
def test_what_is_wrong_with_a_file(path: Path, content: bytes, words: str) -> None:
    path.write_bytes(content)
    with pytest.raises(TraceError, match=words) as error:
        read_trace(path)
    assert str(path) in str(error.value)


def test_no_such_file(path: Path) -> None:
    with pytest.raises(TraceError, match="No such file"):
        read_trace(path)


def test_bytes_after_the_end(path: Path) -> None:
    small(path)
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(TraceError, match="4 bytes follow the end"):
        read_trace(path)


def _write_table(path: Path, schema: pa.Schema) -> None:
    with pa.ipc.new_stream(str(path), schema) as stream:
        stream.write_table(schema.empty_table())


def test_a_schema_of_another_version(path: Path) -> None:
    _write_table(path, build_arrow_schema({"schema": 99}))
    with pytest.raises(SchemaError, match=f"schema 99; this samerun knows {SCHEMA}"):
        read_trace(path)


@pytest.mark.parametrize("text", ["{}", "[]", "not json", "null"])
def test_metadata_that_is_none(path: Path, text: str) -> None:
    _write_table(path, build_arrow_schema({}).with_metadata({"samerun": text}))
    with pytest.raises(TraceError):
        read_trace(path)


def test_an_arrow_file_that_is_no_trace(path: Path) -> None:
    _write_table(path, pa.schema([("a", pa.int64())]))
    with pytest.raises(TraceError, match="no `samerun` metadata"):
        read_trace(path)


def test_other_columns(path: Path) -> None:
    schema = build_arrow_schema({})
    _write_table(path, pa.schema([("a", pa.int64())], metadata=schema.metadata))
    with pytest.raises(TraceError, match="its columns are"):
        read_trace(path)


# --- a disk that fails ------------------------------------------------------------------------------------


def _use(path: Path) -> TraceWriter:
    writer = TraceWriter(path, {})
    for step in range(3):
        writer.append(Record(step, "forward", "loss", "backward", value=1.0))
        writer.flush()
    writer.close()
    writer.close()
    return writer


def test_a_full_disk() -> None:
    writer = _use(Path("/dev/full"))
    assert writer.failed == "/dev/full: No space left on device"


def test_a_folder_that_is_not_there_or_is_a_file(tmp_path: Path) -> None:
    assert "No such file" in (_use(tmp_path / "absent" / "x").failed or "")
    (tmp_path / "file").touch()
    assert "Not a directory" in (_use(tmp_path / "file" / "x").failed or "")


def test_a_disk_that_fills_up_keeps_what_was_whole(path: Path) -> None:
    script = textwrap.dedent(
        f"""
        import os, resource
        from pathlib import Path
        from samerun.runs.record import Record
        from samerun.runs.trace import TraceWriter
        writer = TraceWriter(Path({str(path)!r}), {{}})
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
        for step in range(100):
            for n in range(100):
                writer.append(Record(step, "forward", "operation", "mm", digest=os.urandom(16)))
            writer.flush()
        writer.close()
        print(writer.failed)
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "File too large" in done.stdout
    trace = read_trace(path)
    assert not trace.complete
    assert 1000 < len(trace) < 10_000
    assert len(trace) % 100 == 0


def test_a_failed_writer_keeps_nothing_in_memory(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "absent" / "x", {})
    assert writer.failed is not None
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(50):
        for _ in range(1000):
            writer.append(Record(0, "forward", "operation", "mm", detail="x" * 1000))
        writer.flush()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000  # KB; 50 MB were appended


# --- what it costs ------------------------------------------------------------------------------------------


def _ops_step(writer: TraceWriter, step: int) -> None:
    for n in range(900):
        writer.append(
            Record(
                step,
                "forward" if n < 400 else "backward",
                "operation",
                f"aten::op{n % 60 % 37}",
                f"GPT.blocks.{n // 150}",
                f"model.py:{n % 60}",
                os.urandom(16),
                struct.unpack("<Q", os.urandom(8))[0],
            )
        )


def test_the_size_of_a_step_at_tier_ops(path: Path) -> None:
    writer = TraceWriter(path, {})
    for step in range(40):
        _ops_step(writer, step)
        if step % 8 == 7:
            writer.flush()
    writer.close()
    assert path.stat().st_size / 40 <= 22_528  # 21,600 of them are random bits that nothing can compress


def test_the_size_of_a_step_that_is_flushed_alone(path: Path) -> None:
    writer = TraceWriter(path, {})
    for step in range(40):
        _ops_step(writer, step)
        writer.flush()
    writer.close()
    assert path.stat().st_size / 40 <= 25_000


def test_a_record_takes_few_calls(path: Path) -> None:
    """What its time comes from, whatever else the machine does."""
    calls: collections.Counter[str] = collections.Counter()
    with closing(TraceWriter(path, {})) as writer:
        sys.setprofile(lambda _frame, event, _arg: calls.update([event]))
        try:
            for _ in range(1000):
                writer.append(
                    Record(1, "forward", "operation", "aten::mm", "a.b", "train.py:3", bytes(16), 7)
                )
        finally:
            sys.setprofile(None)
    assert calls["call"] / 1000 < 1.1
    assert calls["c_call"] / 1000 < 1.1


@pytest.mark.slow  # it reads the clock: a busy machine makes it fail
def test_the_time_of_a_record(path: Path) -> None:
    writer = TraceWriter(path, {})
    digest = bytes(16)
    best = float("inf")
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(1000):
            writer.append(Record(1, "forward", "operation", "aten::mm", "a.b", "train.py:3", digest, 7))
        best = min(best, time.perf_counter() - start)
        writer.flush()
    writer.close()
    assert best / 1000 < 1.5e-6


def test_the_losses_of_a_step_are_what_backward_was_called_on_and_not_the_terms_that_were_derived(
    tmp_path: Path,
) -> None:
    """A physical equation, or a gradient penalty, calls torch.autograd.grad on its way to the loss."""
    path = tmp_path / "rank0.trace.arrow"
    with closing(TraceWriter(path, {})) as writer:
        for step, name, value in [
            (0, "grad", -50.0), (0, "grad", 1.5), (0, "backward", 0.5), (0, "backward", 0.25),
            (1, "grad", 0.125), (1, "grad", 0.0625), (2, "grad", 3.0), (2, "backward", None),
        ]:  # fmt: skip
            writer.append(Record(step, "forward", "loss", name, value=value))
    assert read_trace(path).losses() == {0: (0.5, 0.25), 1: (0.125, 0.0625), 2: (3.0,)}
