"""The loaders of a trace: which there are, whatever a stranger wrote into it."""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.health.loaders import Pass, read_loaders
from samerun.runs.reading import Trace, read_trace
from samerun.runs.record import Record
from samerun.runs.trace import TraceWriter

OF = '"loader": 1, "pass": 2'


def written(path: Path, *records: Record) -> Trace:
    writer = TraceWriter(path / "rank0.trace.arrow", {"rank": 0})
    for record in records:
        writer.append(record)
    writer.close()
    return read_trace(writer.path)


def test_a_pass_and_its_batches(tmp_path: Path) -> None:
    trace = written(
        tmp_path,
        Record(0, "data", "pass", "Digits", detail=f'{{{OF}, "workers": [7], "iterable": true}}'),
        Record(0, "data", "batch", "Digits", digest=b"b" * 16, detail=f'{{{OF}, "batch": 1}}'),
        Record(0, "forward", "loss", "backward"),
    )
    loaders = read_loaders(trace)
    assert loaders.passes == [Pass(1, 2, "Digits", 0, None, (7,), True, [b"b" * 16])]
    assert loaders.training == {1} and loaders.batches == [(1, 1)]


@pytest.mark.parametrize("detail", ['{"workers": 5}', '{"loader": "x"}', "5", "[" * 200_000, None])
def test_a_damaged_pass_is_one_of_an_unknown_loader(tmp_path: Path, detail: str | None) -> None:
    loaders = read_loaders(written(tmp_path, Record(0, "data", "pass", "Digits", detail=detail)))
    assert loaders.passes == [Pass(-1, -1, "Digits", 0, None, (), False)]
