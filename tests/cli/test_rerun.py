"""`samerun rerun` on real commands, from end to end, and the ways in which its options are written."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from samerun.cli.arguments import find_verbs, parse
from samerun.errors import UsageError
from samerun.runs.store import Store

from .command import samerun

TRAIN = """\
import os, random, sys, time, torch
torch.set_num_threads(1)
model = torch.nn.Linear(8, 1)
if os.path.exists("slow"):
    print("sleeping", flush=True)
    time.sleep(100)
for step in range(2):
    scale = random.random() + len(sys.argv)
    loss = (model(torch.randn(4, 8)) * scale).pow(2).mean()
    loss.backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.01 * p.grad, None
torch.save(model.state_dict(), f"{time.time()}.pt")
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "train.py").write_text(TRAIN)
    done = samerun("run", "--mode", "off", "--", sys.executable, "train.py", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def folder(recorded: Path, tmp_path: Path) -> Path:
    """A copy of the folder, in which the run was made."""
    shutil.copytree(recorded, tmp_path, dirs_exist_ok=True)
    (run,) = Store(tmp_path / ".samerun").list()
    manifest = run.path / "manifest.json"
    manifest.write_text(manifest.read_text().replace(str(recorded), str(tmp_path)))
    return tmp_path


def test_the_last_run_is_had_again_and_with_a_part_it_is_another(folder: Path) -> None:
    (saved,) = folder.glob("*.pt")
    before = saved.stat().st_mtime_ns, saved.read_bytes()
    done = samerun("rerun", "last", "--json", "-", cwd=folder)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    run, again = (run.id for run in Store(folder / ".samerun").list())
    assert (result["verdict"], result["of"], result["runs"]) == ("same", run, [run, again])
    assert {"clock", "python-random", "torch-cpu"} <= set(result["given"])
    assert (result["changed"], result["parted"], result["unreplayed"]) == ([], [], [])
    assert f"✓ same — this is the run {run} again, bit for bit, to its end" in " ".join(done.stderr.split())
    assert list(folder.glob("*.pt")) == [saved]
    assert (saved.stat().st_mtime_ns, saved.read_bytes()) == before, "it writes in a copy"

    words = ("rerun", "--json", "out.json", "--except", "torch-cpu", "--except", "clock", run[:-1])
    done = samerun(*words, "--", sys.executable, "train.py", cwd=folder)
    assert done.returncode == 1, done.stderr
    assert f"✗ differs — this is not the run {run} again" in " ".join(done.stdout.split())
    result = json.loads((folder / "out.json").read_text())
    left_out = {item["source"] for item in result["unreplayed"] if "left out by" in item["why"]}
    assert "torch-cpu" in left_out
    assert "python-random" in result["given"] and "clock" not in result["given"]
    assert result["first_difference"]["step"] == 0


@pytest.mark.slow
def test_a_failing_command_is_unknown_and_what_is_not_there_is_wrong_usage(folder: Path) -> None:
    done = samerun("rerun", "last", "--", sys.executable, "-c", "raise ValueError('no')", cwd=folder)
    assert done.returncode == 3, done.stderr
    assert "? unknown — whether this is the run " in done.stdout and "ValueError: no" in done.stdout
    done = samerun("rerun", "last~9", cwd=folder)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    (run,) = (run for run in Store(folder / ".samerun").list() if run.outcome == "finished")
    for path in run.path.glob("*.answers"):
        path.unlink()
    done = samerun("rerun", run.id, cwd=folder)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert "kept nothing of what its sources gave" in done.stderr


@pytest.mark.slow
def test_ctrl_c_leaves_a_whole_run_and_no_copy(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (folder / "slow").touch()
    temporary = tmp_path_factory.mktemp("temporary")
    process = subprocess.Popen(
        [sys.executable, "-m", "samerun.cli", "rerun", "last"],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    until = time.monotonic() + 120
    while not any("sleeping" in path.read_text() for path in folder.glob(".samerun/runs/*/output.txt")):
        assert time.monotonic() < until
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "samerun: interrupted; runs kept in .samerun/runs: " in said
    assert [run.outcome for run in Store(folder / ".samerun").list()] == ["finished", "interrupted"]
    assert not list(temporary.glob("samerun-scratch-*"))


# --- options -------------------------------------------------------------------------------------------


def refused(*words: str) -> str:
    with pytest.raises(UsageError) as caught:
        verb, options = parse(["rerun", *words], find_verbs())
        verb.run(options)
    return str(caught.value)


@pytest.mark.parametrize("option", ["--only", "--except"])
def test_an_unknown_source_is_told_the_nearest(option: str) -> None:
    assert "there is no such source; did you mean 'torch-cpu'?" in refused(option, "torch_cpu", "last")
    assert "process-id: what it gives is not kept" in refused(option, "process-id", "last")


def test_the_command_is_what_follows_the_dashes() -> None:
    _, options = parse(["rerun", "last", "--only", "clock", "--", "sh", "-c", "a -- b"], find_verbs())
    assert (options.recorded, options.only, options.command) == ("last", ["clock"], ["sh", "-c", "a -- b"])
    _, options = parse(["rerun", "last"], find_verbs())
    assert (options.only, options.without, options.command) == (None, [], [])
    assert "no command to run" in refused("last", "--")
    assert "the following arguments are required: RUN" in refused("--", "python", "train.py")
    assert "unrecognized arguments: python train.py" in refused("last", "python", "train.py")


def test_a_folder_that_is_gone_is_said_before_anything_is_started(folder: Path, tmp_path: Path) -> None:
    (run,) = Store(folder / ".samerun").list()
    manifest = run.path / "manifest.json"
    manifest.write_text(manifest.read_text().replace(f'"cwd": "{folder}"', f'"cwd": "{folder}/gone"'))
    done = samerun("rerun", str(run.path), cwd=tmp_path)
    assert done.returncode == 2
    assert f"{folder}/gone" in done.stderr and "name the command: samerun rerun RUN -- " in done.stderr
    assert len(Store(folder / ".samerun").list()) == 1
