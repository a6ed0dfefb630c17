"""A recorded run is whole on disk, however its command ended.

Covers `summarise_traces.py`.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from samerun.errors import CommandNotFound, RunError
from samerun.launching.launch import LaunchRequest
from samerun.launching.run import record
from samerun.launching.workspace import Workspace
from samerun.runs.manifest import Manifest
from samerun.runs.plan import Control, Plan
from samerun.runs.store import Store

TRAIN = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
for step in range(5):
    model(torch.ones(2, 4)).sum().backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None
"""
TRAINING = LaunchRequest([sys.executable, "train.py"])


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    (work / "train.py").write_text(TRAIN)
    return work


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / ".samerun")


@pytest.fixture
def at(work: Path, store: Store) -> Workspace:
    return Workspace(work, store)


def test_a_training_is_recorded_whole(at, work):
    run = record(TRAINING, Plan(control=Control(mode="seeded", seed=3)), at)
    manifest = run.manifest
    assert (manifest.outcome, manifest.exit_code, manifest.error) == ("finished", 0, None)
    assert (manifest.steps, manifest.seed, manifest.mode) == (5, 3, "seeded")
    assert (manifest.cwd, manifest.command) == (str(work), (sys.executable, "train.py"))
    assert manifest.packages["torch"].startswith("2.")
    assert manifest.python == sys.version.split()[0]
    assert "rank0" in run.traces()


def test_stop_after_ends_it_once_that_step_is_complete(at, work):
    (work / "train.py").write_text(TRAIN.replace("range(5)", "range(10**9)"))
    run = record(replace(TRAINING, timeout=60), Plan(stop_after=2), at)
    assert (run.outcome, run.steps) == ("stopped", 3)
    assert {path.suffix for path in run.path.iterdir()} == {".json", ".txt", ".arrow", ".seen", ".answers"}


def test_a_command_that_fails_leaves_a_whole_run(at):
    run = record(LaunchRequest(["sh", "-c", "echo no; exit 4"]), Plan(), at)
    assert (run.outcome, run.manifest.exit_code, run.steps) == ("failed", 4, 0)
    assert (run.path / "output.txt").read_text() == "no\n"


def test_a_command_not_found_leaves_no_run(at, store):
    with pytest.raises(CommandNotFound):
        record(LaunchRequest(["no-such-command"]), Plan(), at)
    assert store.list() == []


def test_the_manifest_says_running_while_it_does(at, store):
    seen: list[str] = []

    def on_progress(progress):
        seen.append(Manifest.read(next(store.runs.iterdir())).outcome)

    record(LaunchRequest(["sh", "-c", "exit 0"], on_progress=on_progress), Plan(), at)
    assert set(seen) == {"running"}


def test_an_error_of_the_callers_leaves_a_whole_run(at, store):
    with pytest.raises(ZeroDivisionError):
        record(LaunchRequest(["sleep", "1000"], on_progress=lambda progress: 1 // 0), Plan(), at)
    assert [run.outcome for run in store.list()] == ["failed"]


def test_ctrl_c_leaves_a_whole_run(work, store):
    program = (
        "import sys; from pathlib import Path; from samerun.launching.launch import LaunchRequest\n"
        "from samerun.launching.run import record\n"
        "from samerun.launching.workspace import Workspace\n"
        "from samerun.runs.plan import Plan\nfrom samerun.runs.store import Store\n"
        "request = LaunchRequest(['sh', '-c', 'touch ready; exec sleep 1000'])\n"
        "record(request, Plan(), Workspace(Path.cwd(), Store(Path(sys.argv[1]))))\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program, str(store.root)], cwd=work)
    until = time.monotonic() + 20
    while not (work / "ready").exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    parent.send_signal(signal.SIGINT)
    assert parent.wait(20) == 0
    (run,) = store.list()
    assert (run.outcome, run.manifest.error) == ("interrupted", "interrupted by Ctrl-C")


def test_scratch_runs_in_a_copy_and_leaves_the_folder_as_it_was(at, work):
    program = "import os; open('checkpoint', 'w'); print(os.getcwd() == os.environ['PWD'], os.listdir('.'))"
    before = sorted(work.iterdir())
    run = record(LaunchRequest([sys.executable, "-c", program]), Plan(), replace(at, fresh=True))
    assert run.outcome == "finished"
    assert (run.path / "output.txt").read_text().startswith("True ['")
    assert "checkpoint" in (run.path / "output.txt").read_text()
    assert sorted(work.iterdir()) == before
    assert run.manifest.cwd == str(work)


def test_no_secret_of_the_environment_is_kept(at):
    run = record(LaunchRequest(["true"], {"WANDB_API_KEY": "hunter2", "OMP_NUM_THREADS": "2"}), Plan(), at)
    text = (run.path / "manifest.json").read_text()
    assert json.loads(text)["environment"]["OMP_NUM_THREADS"] == "2"
    assert "hunter2" not in text


def test_a_store_that_cannot_be_written_is_told_before_the_start(work, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="No run can be kept"):
        record(LaunchRequest(["touch", "started"]), Plan(), Workspace(work, Store(tmp_path / "file")))
    assert not (work / "started").exists()


def test_a_corrupt_trace_does_not_keep_the_manifest_from_being_finished(at):
    script = "for d in ../.samerun/runs/*; do echo nonsense > $d/rank0.trace.arrow; done"
    run = record(LaunchRequest(["sh", "-c", script]), Plan(), at)
    assert (run.outcome, run.steps) == ("finished", 0)


def test_a_program_that_lies_outside_of_the_copy_is_started_where_it_is(trainer):
    folder = trainer.folder / "project"
    folder.mkdir()
    (folder / "train.py").write_text("print(1)")
    (trainer.folder / "python").symlink_to(sys.executable)
    command = LaunchRequest(["../python", "train.py"], {}, timeout=60)
    run = record(command, Plan(tier="none"), Workspace(folder, Store(folder / ".samerun"), fresh=True))
    assert (run.outcome, (run.path / "output.txt").read_text()) == ("finished", "1\n")
