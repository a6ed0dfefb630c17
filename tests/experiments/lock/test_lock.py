"""Covers `build.py`, `environment_class.py`, `leaves.py`, `negative_control.py`, `observed.py`, `result.py`,
`results.py`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from samerun.errors import RunError
from samerun.experiments.lock import negative_control
from samerun.experiments.lock.build import build_lock
from samerun.experiments.lock.moved import find_moved
from samerun.experiments.lock.observed import observe
from samerun.launching.launch import LaunchRequest
from samerun.launching.workspace import Workspace
from samerun.runs.lock.file import FILE, write_lock
from samerun.runs.plan import Control, Plan
from samerun.runs.reading import read_trace
from samerun.runs.record import Record
from samerun.runs.schema import EXACT
from samerun.runs.store import Run
from samerun.runs.trace import TraceWriter

from ..locking import Machine, lock_of, locked, made_request
from ..scripts import Script


def test_runs_that_agree_are_locked_with_their_first_steps_and_the_last(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("lr = 0.1\n")
    result = locked(Machine(Script(steps=10, batches=("torch-cpu",))), tmp_path)
    assert result.verdict == "same" and result.lock is not None
    lock = lock_of(tmp_path)
    assert lock == result.lock
    assert (lock.command, lock.steps, lock.ranks, lock.mode) == (("python", "train.py"), 10, 1, "strict")
    (environment,) = lock.environments.values()
    assert [step.at for step in environment.steps] == [0, 1, 2, 4, 8, 9, 10]  # the end comes at 10
    assert environment.result.loss == environment.steps[-2].loss is not None
    assert {"batch", "loss", "gradients", "parameters"} <= environment.root.keys()
    assert environment.steps[0].loss is not None
    assert set(lock.code.files) == {"train.py"} and set(lock.portable) == {"draws", "names"}


def test_what_is_evaluated_after_an_update_moves_after_it(tmp_path: Path) -> None:
    result = locked(Machine(Script(steps=3)), tmp_path)
    (environment,) = lock_of(tmp_path).environments.values()
    assert {"evaluation", "loss"} <= environment.root.keys() and "outputs" not in environment.root
    run = next(iter((tmp_path / ".samerun" / "runs").iterdir()))
    observed = observe(Run(run))
    assert result.leaves is not None
    for quantity in ("evaluation", "parameters"):
        observed = negative_control.flip_bit(observed, negative_control.Flip(2, quantity, 7))
    moved = find_moved(environment, observed, result.leaves)
    assert [(item.quantity, item.step) for item in moved] == [("parameters", 2), ("evaluation", 2)]


def test_runs_that_differ_are_not_locked(tmp_path: Path) -> None:
    result = locked(Machine(Script(flips=frozenset({(2, 1, "gradients")}))), tmp_path, confirm=False)
    assert result.verdict == "differs" and result.lock is None
    assert not (tmp_path / FILE).exists()


def test_a_command_without_a_step_is_not_locked(tmp_path: Path) -> None:
    result = locked(Machine(Script(steps=0, operations=2)), tmp_path)
    assert result.verdict == "unknown" and not (tmp_path / FILE).exists()


def test_what_is_of_one_machine_alone_is_not_in_the_file(tmp_path: Path) -> None:
    locked(Machine(Script()), tmp_path)
    text = (tmp_path / FILE).read_text()
    assert str(tmp_path) not in text and "/home" not in text


def test_the_file_is_the_same_when_it_is_locked_again(tmp_path: Path) -> None:
    texts = []
    for _ in range(2):
        locked(Machine(Script(steps=20)), tmp_path)
        texts.append([line for line in (tmp_path / FILE).read_text().splitlines() if "run = " not in line])
    assert texts[0] == texts[1]


def test_a_long_run_has_a_file_of_200_lines(tmp_path: Path) -> None:
    request = made_request(tmp_path)
    run = Machine(Script(steps=10_000)).record(request.launch, request.plan, request.workspace)
    observed = observe(run)
    write_lock(build_lock(request.command, False, Control(), None, observed), tmp_path / FILE)
    assert len((tmp_path / FILE).read_text().splitlines()) <= 200
    (environment,) = lock_of(tmp_path).environments.values()
    assert find_moved(environment, observed) == find_moved(environment, observed, observed.leaves) == ()
    assert [environment.steps[at].at for at in (0, -2, -1)] == [0, 9_999, 10_000]
    assert len(environment.steps) > 8


def test_an_update_says_what_moved_and_what_did_not(tmp_path: Path) -> None:
    machine = Machine(Script(kernel=None))
    locked(machine, tmp_path)
    again = locked(machine, tmp_path, update=True)
    assert again.moved == () and {"loss", "parameters"} <= set(again.unmoved)
    later = locked(
        Machine(Script(flips=frozenset((run, 3, "parameters") for run in (1, 2)))), tmp_path, update=True
    )
    assert later.moved is not None
    assert [(item.quantity, item.step) for item in later.moved] == [("parameters", 4)] or [
        item.quantity for item in later.moved
    ] == ["parameters"]
    assert "parameters" not in later.unmoved and "loss" in later.unmoved


def test_other_environments_stay_where_no_digest_moved_and_go_where_one_did(tmp_path: Path) -> None:
    machine = Machine(Script())
    locked(machine, tmp_path)
    lock = lock_of(tmp_path)
    (environment,) = lock.environments.values()
    write_lock(replace(lock, environments={**lock.environments, "0ther": environment}), tmp_path / FILE)
    locked(machine, tmp_path, update=True)
    assert "0ther" in lock_of(tmp_path).environments
    locked(Machine(Script(flips=frozenset((run, 1, "loss") for run in (1, 2)))), tmp_path, update=True)
    assert "0ther" not in lock_of(tmp_path).environments


def test_a_comparison_that_misses_the_inverted_bit_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(negative_control, "find_moved", lambda *_: ())
    with pytest.raises(RunError, match="One bit was inverted"):
        locked(Machine(Script()), tmp_path)
    assert not (tmp_path / FILE).exists()


def test_what_differs_without_effect_is_left_out_and_said(tmp_path: Path) -> None:
    result = locked(Machine(Script(bystanders=("numpy-global",))), tmp_path, control=Control(only=()))
    assert result.lock is not None and result.lock.left_out == ("draws",)
    (environment,) = lock_of(tmp_path).environments.values()
    assert "draws" not in environment.root and "loss" in environment.root


@pytest.mark.parametrize("flags, portable", [(EXACT, True), (0, False)])
def test_batches_without_floating_point_hold_on_every_machine(
    tmp_path: Path, flags: int, portable: bool
) -> None:
    request = made_request(tmp_path)
    run = Machine(Script(steps=3)).record(request.launch, request.plan, request.workspace)
    path = run.path / "rank0.trace.arrow"
    writer = TraceWriter(path, read_trace(path).meta)
    for step, of in enumerate((EXACT, flags)):
        writer.append(Record(step, "data", "batch", "Ids", digest=bytes(16), flags=of))
    writer.close()
    assert ("batch" in observe(run).portable) is portable


@dataclass
class Structured(Script):
    """A training that tells the names and shapes of its parameters."""

    shape: str = ""

    def record(self, request: LaunchRequest, plan: Plan, at: Workspace) -> Run:
        """With a second rank that has these rows alone."""
        run = super().record(request, plan, at)
        path = run.path / "rank1.trace.arrow"
        meta = {**read_trace(run.path / "rank0.trace.arrow").meta, "stem": "rank1", "rank": 1}
        writer = TraceWriter(path, meta)
        for what, detail in (("names", '["weight"]'), ("shapes", json.dumps([self.shape]))):
            writer.append(Record(0, "setup", what, "parameters:Net", detail=detail))
        writer.append(Record(0, "setup", "parameters", "SGD", digest=bytes(16)))
        writer.close()
        return run


def test_names_and_shapes_hold_on_every_machine(tmp_path: Path) -> None:
    portable = []
    for shape in ("float32[8, 4]", "float32[8, 4]", "float32[4, 8]"):
        request = made_request(tmp_path)
        recorded = Machine(Structured(shape=shape)).record(request.launch, request.plan, request.workspace)
        portable.append(observe(recorded).portable)
    assert portable[0] == portable[1] and portable[0].keys() >= {"names", "shapes"}
    assert portable[0]["names"] == portable[2]["names"] and portable[0]["shapes"] != portable[2]["shapes"]
