"""What a lock says."""

from __future__ import annotations

import io
from pathlib import Path

from experiments.locking import Machine, locked
from experiments.scripts import Script
from rich.console import Console

from samerun.experiments.lock.result import LockResult
from samerun.report.text.lock import show


def shown(result: LockResult) -> str:
    file = io.StringIO()
    show(result, Console(file=file, width=80, highlight=False, markup=False))
    return " ".join(file.getvalue().split())


def test_what_was_locked_and_the_bit_that_was_noticed(tmp_path: Path) -> None:
    result = locked(Machine(Script()), tmp_path)
    text = shown(result)
    assert result.flip is not None and text.startswith("✓ same — 2 runs, 4 steps, 1 rank")
    inverted = f"with bit {result.flip.bit} of the {result.flip.quantity} digest of step {result.flip.step}"
    assert inverted in text and f"{len((tmp_path / 'samerun.lock').read_text().splitlines())} lines" in text
    assert "Next # whether it still gives these bits samerun verify" in text


def test_an_update_says_what_moved(tmp_path: Path) -> None:
    locked(Machine(Script()), tmp_path)
    assert "no digest moved: batch, " in shown(locked(Machine(Script()), tmp_path, update=True))
    flips = frozenset((run, 1, "loss") for run in (1, 2))
    text = shown(locked(Machine(Script(flips=flips)), tmp_path, update=True))
    assert "moved: loss, in step 1 not moved: batch, " in text


def test_runs_that_differ_are_explained_and_nothing_is_written(tmp_path: Path) -> None:
    result = locked(Machine(Script(flips=frozenset({(2, 1, "loss")}))), tmp_path, confirm=False)
    text = shown(result)
    assert text.startswith("✗ differs") and "was not written: only what repeats can be locked" in text
