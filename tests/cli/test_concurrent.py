"""Two checks in one folder at the same moment, and one that is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from samerun.runs.store import Store

from .training import TRAIN


def begin(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "samerun.cli", "check", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_two_checks_at_once_do_not_mix_their_runs(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    commands = [[sys.executable, "train.py", word] for word in ("tell", "unseeded")]
    with (
        begin(tmp_path, "--", *commands[0]) as one,
        begin(tmp_path, "--no-confirm", "--steps", "2", "--", *commands[1]) as two,
    ):
        said = [process.communicate(timeout=120)[0] for process in (one, two)]
    assert (one.returncode, two.returncode) == (0, 1), said
    assert "torch-cpu" in said[1]
    runs = Store(tmp_path / ".samerun").list()
    for command, text in zip(commands, said, strict=True):
        own = [run.id for run in runs if list(run.manifest.command) == command]
        assert len(own) >= 2
        assert text.splitlines()[-1].startswith(f"Runs in .samerun/runs: {own[0]}, {own[1]}")
    assert all(list(run.traces()) == ["rank0"] for run in runs)


def test_ctrl_c_in_the_second_run_keeps_both_and_leaves_no_orphan(tmp_path: Path) -> None:
    pipe = tmp_path / "second"
    os.mkfifo(pipe)
    (tmp_path / "train.py").write_text(
        "import os, subprocess\n"
        "if os.path.exists('first'):\n"
        "    child = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
        "    with open('second', 'w') as pipe:\n        pipe.write(str(child.pid))\n"
        "    child.wait()\n"
        "open('first', 'w').close()\n"
    )
    with begin(tmp_path, "--", sys.executable, "train.py") as process:
        child = psutil.Process(int(pipe.read_text()))  # waits until the second run is there
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    first, second = Store(tmp_path / ".samerun").list()
    assert [first.outcome, second.outcome] == ["finished", "interrupted"]
    kept = f"{first.id} (finished), {second.id} (interrupted)"
    assert said.splitlines()[-1] == f"samerun: interrupted; runs kept in .samerun/runs: {kept}"
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
