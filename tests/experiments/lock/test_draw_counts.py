"""Draws are counted from one place of a generator to the next, exactly or not at all."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from samerun.comparing.pairing import RecordedRun
from samerun.experiments.lock import draw_counts
from samerun.experiments.lock.draw_counts import count_draws, describe_counts
from samerun.runs.reading import read_trace
from samerun.runs.record import Record
from samerun.runs.schema import SEEDED
from samerun.runs.store import Run
from samerun.runs.trace import TraceWriter
from samerun.sources.base.rng import Rng
from samerun.sources.numpy_global import NumpyGlobal
from samerun.sources.python_random import PythonRandom
from samerun.sources.torch_cpu import TorchCpu

DRAW = {
    PythonRandom: (random.seed, lambda count: random.getrandbits(32 * count)),
    NumpyGlobal: (np.random.seed, lambda count: np.random.bytes(4 * count)),
    TorchCpu: (torch.manual_seed, torch.rand),
}


class Recorded:
    """A trace with the rows that recording writes of one generator."""

    def __init__(self, path: Path, rng: Rng) -> None:
        self.path = path / "rank0.trace.arrow"
        self.rng = rng
        self.writer = TraceWriter(self.path, {"stem": "rank0", "rank": 0})

    def write(self, what: str = "rng", mark: int | None = None, begins: bool = False) -> None:
        place = self.rng.locate()
        assert place is not None
        parts = place.pack() if begins else None
        detail = SEEDED if what == "state" else None
        mark = self.rng.mark() if mark is None else mark
        self.writer.append(
            Record(0, "forward", what, self.rng.id, inputs=mark, parts=parts, detail=detail, digest=bytes(16))
        )

    def count(self) -> dict[str, int]:
        self.writer.close()
        return count_draws(RecordedRun(Run(self.path.parent), [read_trace(self.path)]))


@pytest.fixture(params=DRAW, ids=[kind.id for kind in DRAW])
def kind(request: pytest.FixtureRequest) -> type[Rng]:
    found: type[Rng] = request.param
    return found


def test_every_word_counts_across_blocks_and_seedings(kind: type[Rng], tmp_path: Path) -> None:
    seed, draw = DRAW[kind]
    rng = kind()
    before = rng.capture()
    try:
        seed(3)
        recorded = Recorded(tmp_path, rng)
        recorded.write(begins=True)
        counts = (1, 5, 623, 624, 625, 20_000)
        for count in counts:
            draw(count)
            recorded.write()
        draw(7)
        mark = rng.mark()
        seed(4)
        recorded.write("state", mark, begins=True)
        draw(2)
        recorded.write()
        assert recorded.count() == {kind.id: sum(counts) + 7 + 2}
    finally:
        rng.restore(before)


def test_a_generator_that_was_put_elsewhere_is_not_counted(
    kind: type[Rng], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draw_counts, "_MOST_BLOCKS", 100)
    seed, draw = DRAW[kind]
    rng = kind()
    before = rng.capture()
    try:
        seed(3)
        recorded = Recorded(tmp_path, rng)
        recorded.write(begins=True)
        draw(9)
        recorded.write()
        seed(4)
        draw(1)
        recorded.write()
        assert recorded.count() == {}
    finally:
        rng.restore(before)


def test_what_a_stranger_wrote_is_no_place(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, TorchCpu())
    recorded.writer.append(Record(0, "setup", "rng", "torch-cpu", inputs=2**64 - 1, parts=b"x" * 40))
    assert recorded.count() == {}


def test_only_another_number_is_said() -> None:
    said = describe_counts({"torch-cpu": 1000, "numpy-global": 4}, {"torch-cpu": 1200, "numpy-global": 4})
    assert said == ["torch-cpu gave 1,200 numbers, and 1,000 when locked"]
