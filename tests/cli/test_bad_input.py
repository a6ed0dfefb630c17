"""What goes wrong with a command: the right exit code, one clear reason, and no traceback of ours."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

import samerun as package

from .command import called, samerun
from .training import TRAIN

PACKAGE = f'File "{Path(package.__file__).parent}'  # a line of a traceback of ours


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(TRAIN)
    return tmp_path


def check(folder: Path, *words: str, own: tuple[str, ...] = (), **options):
    done = samerun("check", *own, "--", sys.executable, *words, cwd=folder, **options)
    assert "fault of samerun's own" not in done.stderr
    assert PACKAGE not in done.stdout + done.stderr
    return done


def said(text: str) -> str:
    """The text with its lines joined."""
    return re.sub(r"\s+", " ", text)


def lives(process: int) -> bool:
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("verb", ["check", "run"])
@pytest.mark.parametrize(
    "words, reason",
    [
        ((), "no command to run"),
        (("no-such-command",), "'no-such-command' was not found on PATH"),
        (("./none.sh",), "'./none.sh' does not exist"),
        (("./plain.sh", "a"), "'./plain.sh' is not executable; did you mean: sh ./plain.sh a"),
        (("train.py",), "'train.py' was not found on PATH; did you mean: python train.py"),
        (("./folder",), "'./folder' is a folder"),
        (("./nonsense",), "'./nonsense' cannot be started"),
        (("",), "the command is empty"),
    ],
)
def test_a_command_that_cannot_be_started(
    folder: Path, verb: str, words: tuple[str, ...], reason: str
) -> None:
    (folder / "plain.sh").write_text("true")
    (folder / "folder").mkdir()
    (folder / "nonsense").write_bytes(b"\x7fELF nonsense")
    (folder / "nonsense").chmod(0o755)
    done = called(verb, "--", *words, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list((folder / ".samerun" / "runs").glob("*"))


def test_a_crash_in_one_run_of_two(folder: Path) -> None:
    done = check(folder, "train.py", "once")
    assert done.returncode == 3
    reason = (
        "? unknown — run 2 of 2 did not end as the others did: exit code 1 after 2 steps; up to there the"
    )
    assert said(done.stdout).startswith(reason)
    assert "RuntimeError: out of luck" in done.stdout


@pytest.mark.slow
def test_a_hang_ends_with_its_whole_tree(folder: Path) -> None:
    done = check(folder, "train.py", "hang", own=("--timeout", "10"))
    assert done.returncode == 3
    reason = (
        "? unknown — every run was ended by --timeout: run 1 after 2 steps, run 2 after 2 steps; give it more"
    )
    assert said(done.stdout).startswith(reason)
    children = [int(line) for line in (folder / "children").read_text().split()]
    assert len(children) == 2
    assert not any(map(lives, children))


@pytest.mark.slow
def test_modules_called_and_no_optimizer_step(folder: Path) -> None:
    code = "import torch; torch.manual_seed(0); torch.nn.Linear(3, 1)(torch.ones(1, 3))"
    done = check(folder, "-c", code)
    assert done.returncode == 0
    assert "1 model input, 1 model output, 1 parameter and 4 operations compared" in said(done.stdout)


@pytest.mark.parametrize(
    "command, reason",
    [
        ((sys.executable, "-I", "-c", "1"), "Python ran with -I (isolated mode)"),
        (("env", "-i", sys.executable, "-c", "1"), "env -i clears the environment"),
        (("sh", "-c", "echo hello"), "No Python process that reads its environment was started"),
    ],
)
def test_a_command_that_hides_from_the_recorder(folder: Path, command: tuple[str, ...], reason: str) -> None:
    done = called("check", "--", *command, cwd=folder)
    assert done.returncode == 3
    assert reason in said(done.stdout)


# --- a recorder that breaks off --------------------------------------------------------------------


def test_a_recorder_that_failed_is_never_part_of_same(folder: Path) -> None:
    assert samerun("run", "--", sys.executable, "train.py", "recorder", cwd=folder).returncode == 0
    done = called("diff", "last", "last", cwd=folder)
    assert done.returncode == 3
    reason = "? unknown — the recording of rank0 broke off at step 1 (optimizer): ValueError: planted"
    assert said(done.stdout).startswith(reason)


def test_a_full_disk_ends_the_recording_and_not_the_training(folder: Path) -> None:
    done = samerun("run", "--", sys.executable, "train.py", "full", "tell", cwd=folder)
    assert done.returncode == 0
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == [f"step {n}" for n in range(4)]
    assert "the record is not whole" in done.stderr
    done = called("diff", "last", "last", cwd=folder)
    assert done.returncode == 3
    assert said(done.stdout).startswith("? unknown — the recording of a process broke off, and the disk was")


def test_a_disk_that_is_full_for_samerun_too_keeps_the_exit_code(folder: Path) -> None:
    done = samerun("run", "--", sys.executable, "train.py", "full", "everywhere", "five", "tell", cwd=folder)
    assert done.returncode == 5
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == [f"step {n}" for n in range(4)]
    assert "the record is not whole" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("code", [0, 7])
def test_output_that_cannot_be_written_keeps_the_exit_code(folder: Path, code: int) -> None:
    script = f"{sys.executable} -m samerun.cli run -- sh -c 'echo hello; exit {code}' > /dev/full 2>&1"
    done = samerun("run", "--", "sh", "-c", script, cwd=folder)
    assert done.returncode == code


def test_a_folder_that_cannot_be_written_moves_the_runs_and_says_so(folder: Path) -> None:
    (folder / "tmp").mkdir()
    (folder / ".samerun").write_text("in the way")
    done = samerun(
        "run", "--", "sh", "-c", "echo hello; exit 7", cwd=folder, env={"TMPDIR": str(folder / "tmp")}
    )
    assert (done.returncode, done.stdout) == (7, "hello\n")
    (kept,) = (folder / "tmp").glob("samerun-*/runs")
    assert f"/.samerun/runs cannot be written (Not a directory); runs are kept in {kept}" in done.stderr
    (run,) = kept.iterdir()
    assert f"recorded as {run}" in done.stderr
    assert called("runs", "show", str(run), cwd=folder).returncode == 0


def test_no_place_at_all_is_told_before_the_start(folder: Path) -> None:
    (folder / ".samerun").write_text("in the way")
    full = (
        "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); os.execv("
        "sys.executable, [sys.executable, '-m', 'samerun.cli', 'run', '--', 'touch', 'started'])"
    )
    env = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run([sys.executable, "-c", full], cwd=folder, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, "")
    assert "No run can be kept in .samerun/runs: Not a directory. Start samerun in" in done.stderr
    assert not (folder / "started").exists()


# --- a control that fails --------------------------------------------------------------------------


@pytest.mark.slow
def test_a_control_that_failed_is_said(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text(
        "from samerun.sources.cudnn_benchmark import CudnnBenchmark\n"
        "def control(self, control):\n    raise ValueError('planted')\n"
        "CudnnBenchmark.control = control\n"
    )
    done = check(folder, "train.py", own=("--controlled",), env={"PYTHONPATH": str(folder)})
    assert done.returncode == 0
    assert "while recording: controlling cudnn-benchmark failed: ValueError: planted" in said(done.stdout)
