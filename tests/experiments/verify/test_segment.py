"""A run that goes on from a checkpoint is compared with the locked steps that follow it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from samerun.experiments.lock.leaves_file import write_leaves
from samerun.launching.launch import LaunchRequest
from samerun.launching.workspace import Workspace
from samerun.runs.plan import Plan
from samerun.runs.reading import read_trace
from samerun.runs.record import Record
from samerun.runs.store import Run
from samerun.runs.trace import TraceWriter

from ..locking import Machine, locked, verified
from ..scripts import Script

SCRIPT = Script(steps=10, batches=("torch-cpu",))
CHECKPOINT = Path("last.pt")
Change = Callable[[Record], Record]


@dataclass
class Resumed(Script):
    """The rest of the training, after its first steps."""

    steps: int = 10
    batches: tuple[str, ...] = ("torch-cpu",)
    after: int = 4
    weights: bytes | None = None  # before its first step, where they are not those of the checkpoint
    change: Change = lambda record: record

    def record(self, request: LaunchRequest, plan: Plan, at: Workspace) -> Run:
        """As of the whole training, without what comes before."""
        stop = None if plan.stop_after is None else plan.stop_after + self.after
        run = super().record(request, replace(plan, stop_after=stop), at)
        path = run.path / "rank0.trace.arrow"
        trace = read_trace(path)
        rows = trace.rows(np.ones(len(trace), dtype=bool))
        held = {row.step: row.digest for row in rows if (row.what, row.phase) == ("parameters", "optimizer")}
        writer = TraceWriter(path, trace.meta)
        for row in rows:
            setup = row.phase == "setup" or (row.what == "rng" and row.step == 0)
            if not setup and row.step < self.after:
                continue
            record = Record(
                row.step if setup else row.step - self.after,
                row.phase,
                row.what,
                row.name,
                digest=row.digest,
                value=row.value,
            )
            if (row.what, row.phase) == ("parameters", "setup"):
                record.digest = self.weights or held[self.after - 1]
            writer.append(self.change(record))
        writer.close()
        replace(run.manifest, steps=run.steps - self.after).write(run.path)
        return Run(run.path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text("lr = 0.1\n")
    result = locked(Machine(replace(SCRIPT, calls=[])), tmp_path)
    assert result.leaves is not None
    write_leaves(result.leaves, tmp_path / "leaves")
    return tmp_path


def goes_on(folder: Path, script: Script, **asked: object):
    return verified(Machine(script), folder, checkpoint=CHECKPOINT, **asked)


def bump(step: int, what: str) -> Change:
    def change(record: Record) -> Record:
        if (record.step, record.what) != (step, what) or record.phase == "setup" or not record.digest:
            return record
        record.digest = bytes([record.digest[0] ^ 1]) + record.digest[1:]
        return record

    return change


def test_the_steps_after_a_checkpoint_are_the_locked_ones(folder: Path) -> None:
    result = goes_on(folder, Resumed(), command=("python", "train.py", "--resume"))
    assert (result.verdict, result.first_step, result.steps, result.at) == ("same", 4, 10, None)
    assert {"loss", "gradients", "parameters", "batch", "draws"} <= set(result.quantities)
    assert not {"initial", "end"} & set(result.quantities)


@pytest.mark.parametrize("step, what", [(0, "loss"), (0, "gradients"), (3, "batch"), (5, "parameters")])
def test_one_bit_of_them_differs_at_its_step(folder: Path, step: int, what: str) -> None:
    result = goes_on(folder, Resumed(change=bump(step, what)))
    (moved,) = result.moved
    assert (result.verdict, moved.quantity, moved.step, moved.exact) == ("differs", what, step + 4, True)
    assert any("samerun resume" in note for note in result.notes)


def test_without_the_locked_run_leaves_or_locked_steps_tell(folder: Path) -> None:
    shutil.rmtree(folder / ".samerun")
    leaves = folder / "leaves"
    assert goes_on(folder, Resumed(after=7)).verdict == "unknown"  # the lock has steps 0, 1, 2, 4, 8, 9
    assert goes_on(folder, Resumed(after=7), leaves=leaves).verdict == "same"
    result = goes_on(folder, Resumed(after=5))
    assert (result.verdict, result.first_step, result.at) == ("same", 5, (8, 9))
    assert goes_on(folder, Resumed(after=5, change=bump(3, "loss"))).verdict == "differs"


def test_weights_that_were_seen_too_early_are_found_after_the_first_step(folder: Path) -> None:
    result = goes_on(folder, Resumed(weights=b"y" * 16))
    assert (result.verdict, result.first_step) == ("same", 4)


def test_what_went_on_from_elsewhere_is_unknown(folder: Path) -> None:
    result = goes_on(folder, Resumed(weights=b"y" * 16, change=bump(0, "parameters")))
    assert result.verdict == "unknown" and "no step" in (result.reason or "")
    result = goes_on(folder, replace(SCRIPT, calls=[]))
    assert result.verdict == "unknown" and "from scratch" in (result.reason or "")


def test_another_number_of_steps_differs_unless_so_many_were_asked_for(folder: Path) -> None:
    shorter = Resumed(steps=9)
    result = goes_on(folder, shorter)
    assert result.verdict == "differs" and result.moved[0].step == 8
    assert "it goes on to step 8, and the locked run to step 9" in result.notes
    assert goes_on(folder, Resumed(steps=11)).verdict == "differs"
    result = goes_on(folder, Resumed(), steps=3)
    assert (result.verdict, result.first_step, result.steps) == ("same", 4, 7)
