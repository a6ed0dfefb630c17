"""Covers `distances.py`."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from samerun.experiments.lock.distances import measure, measure_losses
from samerun.experiments.lock.lock import LockRequest, lock
from samerun.experiments.lock.result import LockResult
from samerun.experiments.runner import Runner
from samerun.runs.lock.file import FILE

from ..imagined import Imagined
from ..locking import made_request


def bounded(imagined: Imagined, folder: Path) -> LockResult:
    asked = LockRequest(made_request(folder), folder / FILE, bounds=True)
    return lock(asked, Runner(record=imagined.record))


@pytest.mark.parametrize("on, moves", [(frozenset({"threads"}), True), (frozenset(), False)])
def test_bounds_are_the_largest_distance_of_the_runs_that_were_varied(
    tmp_path: Path, on: frozenset[str], moves: bool
) -> None:
    result = bounded(Imagined(on=on), tmp_path)
    assert result.bounds is not None and result.bounds.factors == ("threads: 1 thread",)
    assert (result.bounds.loss > 0) is moves
    assert any("ATen" in note and "not measured" in note for note in result.notes)  # it did not take hold


def test_what_moves_in_no_varied_run_is_portable_and_what_moves_is_not(tmp_path: Path) -> None:
    result = bounded(Imagined(on=frozenset({"threads"})), tmp_path)
    assert result.lock is not None
    assert set(result.lock.portable) == {"names"}  # it records no indices, draws or batches


def test_variants_that_fail_leave_no_bounds(tmp_path: Path) -> None:
    result = bounded(Imagined(fails=frozenset({"threads", "cpu-isa"})), tmp_path)
    assert result.bounds is None and result.lock is not None
    assert any(note.startswith("threads: 1 thread was not measured: ") for note in result.notes)


def test_distances_are_relative_and_symmetric() -> None:
    assert measure(1.0, 1.0) == measure(math.nan, math.nan) == 0.0
    assert measure(1.0, 1.5) == measure(1.5, 1.0) == pytest.approx(1 / 3)
    assert measure(1.0, -1.0) == 2.0
    assert measure(1.0, None) == measure(1.0, math.nan) == measure(1.0, math.inf) == math.inf
    assert measure_losses({0: 1.0, 5: 1.0}, {0: 1.0, 5: 2.0}) == 0.5
    assert measure_losses({0: 1.0, 5: 1.0}, {0: 1.0}, limit=5) == 0.0
    assert measure_losses({0: 1.0, 5: 1.0}, {0: 1.0}) == math.inf
