"""No verb changes a file of the user's, also where much of the project is behind links."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from .command import samerun
from .untouched import project, seen

COMMAND = ("--", sys.executable, "train.py")
STARTING = {
    "check": ("check",),
    "controlled": ("check", "--controlled"),
    "scratch": ("check", "--scratch"),
    "run": ("run",),
    "run in a copy": ("run", "--scratch"),
    "vary": ("vary", "--budget", "20s"),
    "cost": ("cost", "--rounds", "2", "--budget", "1s"),
    "study": ("study", "--metric", r"loss ([\d.e-]+)", "--seeds", "5"),
    "resume": ("resume", "--kill-at", "1"),
}


@pytest.fixture
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("temporary")


@pytest.fixture
def use(temporary: Path) -> dict[str, str]:
    return {"PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(temporary)}


def left(temporary: Path) -> list[str]:
    return [name for name in os.listdir(temporary) if name.startswith("samerun")]


def test_the_comparison_sees_one_changed_bit_and_one_new_name(tmp_path: Path) -> None:
    work = project(tmp_path)
    before = seen(tmp_path)
    assert seen(tmp_path) == before
    (work / "shared.txt").write_text("0.4")
    assert {path for path, what in seen(tmp_path).items() if before[path] != what} == {
        str(work / "shared.txt"),
        str(tmp_path / "outside" / "hard.txt"),
    }
    (work / "new").symlink_to("data")
    assert set(seen(tmp_path)) - set(before) == {str(work / "new")}


def test_diagnose_tries_its_patch_on_copies_alone_and_finds_what_the_links_lead_to(
    tmp_path: Path, use: dict[str, str], temporary: Path
) -> None:
    work = project(tmp_path)
    script = tmp_path / "outside" / "code" / "train.py"
    script.write_text("import torch; torch.manual_seed(0)\n" + script.read_text())  # one cause is left
    before = seen(tmp_path)
    done = samerun("diagnose", *COMMAND, cwd=work, env=use)
    assert "Patch (the patched code was run 2 times: same)" in done.stdout, done.stdout + done.stderr
    assert "  +random.seed(0)" in done.stdout
    assert seen(tmp_path) == before
    assert left(temporary) == []


@pytest.mark.slow
def test_runs_in_copies_find_the_modules_beside_a_linked_script(tmp_path: Path, use: dict[str, str]) -> None:
    work = project(tmp_path)
    (tmp_path / "outside" / "code" / "train.py").write_text(
        "import random; random.seed(0)\n"
        + ("import torch; torch.manual_seed(0)\n" + (work / "train.py").read_text())
    )
    before = seen(tmp_path)
    done = samerun("check", "--scratch", *COMMAND, cwd=work, env=use)
    assert done.returncode == 0, done.stdout + done.stderr
    assert seen(tmp_path) == before


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("verb", STARTING)
def test_no_verb_that_starts_the_command_writes(
    tmp_path: Path, use: dict[str, str], temporary: Path, verb: str
) -> None:
    work = project(tmp_path)
    before = seen(tmp_path)
    done = samerun(*STARTING[verb], *COMMAND, cwd=work, env=use)
    assert "usage" not in done.stderr and "fault of samerun" not in done.stderr, done.stderr
    assert (work / ".samerun" / "runs").is_dir(), done.stdout + done.stderr
    assert seen(tmp_path) == before
    assert left(temporary) == []


@pytest.mark.slow
def test_no_verb_that_reads_runs_writes(tmp_path: Path, use: dict[str, str], temporary: Path) -> None:
    work = project(tmp_path)
    for _ in range(2):
        samerun("run", *COMMAND, cwd=work, env=use)
    before = seen(tmp_path)
    for words in (("rerun", "last"), ("diff", "last~1", "last"), ("report", "last"), ("env",), ("runs",)):
        done = samerun(*words, cwd=work, env=use)
        assert done.returncode in (0, 1), (words, done.stderr)
    after = seen(tmp_path)
    written = {path: what for path, what in after.items() if path not in before}
    assert {path: what for path, what in after.items() if path in before} == before
    assert all(path.endswith(".html") for path in written), written  # what `report` is for
    assert left(temporary) == []


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["recording", "checking the", "running"])
def test_nothing_is_written_or_left_when_samerun_is_killed(
    tmp_path: Path, use: dict[str, str], temporary: Path, stage: str
) -> None:
    """At the first run, in the middle of a patched one, and at the very start."""
    work = project(tmp_path)
    before = seen(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-m", "samerun.cli", "diagnose", *COMMAND],
        cwd=work,
        env={**os.environ, **use},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    said = next((line for line in process.stderr if stage in line), None)
    process.kill()
    process.communicate()
    assert said is not None or stage == "running"
    for _ in range(600):
        if not left(temporary) and not at_work(work):
            break
        time.sleep(0.1)
    assert left(temporary) == [] and at_work(work) == []
    assert seen(tmp_path) == before


def at_work(folder: Path) -> list[int]:
    """The processes that run in a folder, or in a copy of it."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.cwd().endswith(str(folder)):
                found.append(process.pid)
    return found


@pytest.mark.slow
def test_lock_writes_its_file_alone_and_verify_nothing(
    tmp_path: Path, use: dict[str, str], temporary: Path
) -> None:
    work = project(tmp_path)
    before = seen(tmp_path)
    done = samerun("lock", *COMMAND, cwd=work, env=use)
    assert done.returncode == 0, done.stdout + done.stderr
    locked = seen(tmp_path)
    assert set(locked) - set(before) == {str(work / "samerun.lock")}
    assert {path: what for path, what in locked.items() if path in before} == before
    for words in (("verify",), ("verify", "--static")):
        done = samerun(*words, cwd=work, env=use)
        assert done.returncode == 0, (words, done.stdout + done.stderr)
        assert seen(tmp_path) == locked
    assert left(temporary) == []
