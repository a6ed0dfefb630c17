from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from samerun.runs import columns

DIGESTS = [b"\x00" * 16, None, b"\xff" * 16, bytes(range(16))]
NUMBERS = [0.5, None, float("nan"), -0.0, 3.0, None, 1e300, 5.0, 2.0]


@pytest.mark.parametrize("kept", [slice(None), slice(0, 1), slice(0, 0), slice(1, 2)])
class TestTheyAreThoseOfArrow:
    def same(self, found, wanted):
        found.validate(full=True)
        assert found.type == wanted.type
        assert found.null_count == wanted.null_count
        assert str(found.to_pylist()) == str(wanted.to_pylist())  # as text: NaN is itself

    def test_texts(self, kept):
        values = ["step", None, "", "pérte", "x" * 300][kept]
        self.same(columns.build_texts(iter(values)), pa.array(values, pa.string()))

    def test_bytes(self, kept):
        values = [b"ab", None, b"", b"\x00" * 33][kept]
        self.same(columns.build_bytes(values), pa.array(values, pa.binary()))

    def test_digests(self, kept):
        self.same(columns.build_digests(DIGESTS[kept]), pa.array(DIGESTS[kept], pa.binary(16)))

    def test_optional_floats(self, kept):
        self.same(columns.build_optional(NUMBERS[kept], np.float64), pa.array(NUMBERS[kept], pa.float64()))

    def test_optional_integers(self, kept):
        values = [0, None, 2**64 - 1, 7][kept]
        self.same(columns.build_optional(values, np.uint64), pa.array(values, pa.uint64()))

    def test_numbers(self, kept):
        values = np.arange(20, dtype=np.int32)[kept]
        self.same(columns.build_numbers(values), pa.array(values))
        self.same(columns.build_numbers(values, values % 3 > 0), pa.array(values, mask=values % 3 == 0))

    def test_truths(self, kept):
        values = (np.arange(20) % 3 > 0)[kept]
        self.same(columns.build_truths(values), pa.array(values))


class TestBack:
    COLUMN = pa.array([3, None, 2**40, None, 5], pa.int64())

    @pytest.mark.parametrize("first", [0, 1, 2, 5])
    def test_numbers(self, first):
        part = self.COLUMN.slice(first)
        wanted = [-1 if value is None else value for value in part.to_pylist()]
        found = columns.read_numbers(part, -1)
        assert found.dtype == np.int64
        assert found.tolist() == wanted
        assert columns.read_known(part).tolist() == [value >= 0 for value in wanted]

    def test_none_at_all(self):
        assert columns.read_numbers(pa.nulls(3, pa.int32()), 7).tolist() == [7, 7, 7]


def test_more_than_a_column_holds_is_refused(monkeypatch):
    """Ends that wrapped around would be another text."""
    monkeypatch.setattr(columns, "_MOST", 5)
    assert columns.build_bytes([b"abc", b"de"]).to_pylist() == [b"abc", b"de"]
    with pytest.raises(ValueError, match="6 bytes in one batch"):
        columns.build_bytes([b"abc", b"def"])


def test_a_digest_of_another_length_is_refused():
    with pytest.raises(ValueError, match="2 digests of 31 bytes together"):
        columns.build_digests([b"\x00" * 16, b"\x00" * 15])


def test_pandas_is_imported_neither_to_write_a_trace_nor_to_read_it(tmp_path):
    pytest.importorskip("pandas")
    code = """if True:
        import sys
        from pathlib import Path
        from samerun.runs.reading import read_trace
        from samerun.runs.record import Record
        from samerun.runs.trace import TraceWriter
        path = Path(sys.argv[1])
        writer = TraceWriter(path, {})
        loss = Record(1, "forward", "loss", digest=bytes(16), inputs=3, value=0.5, detail="x", parts=b"y")
        writer.append(loss)
        writer.close()
        trace = read_trace(path)
        assert len(trace.rows(trace.is_one_of("what", {"loss"}))) == 1
        trace.losses(), trace.digests, trace.inputs, trace.steps
        print("pandas" in sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.trace.arrow")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "False", done.stderr
