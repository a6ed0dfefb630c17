"""Each verb where torch is missing or too old: what is about runs works; a training is told of."""

from __future__ import annotations

import functools
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torches
from experiments.scripts import Script

from .command import samerun
from .test_diff import recorded
from .training import TRAIN as REAL

TRAIN = "import torch\nprint('trained', torch.__version__)\n"
TRIES = "try:\n    import torch\nexcept ImportError:\n    print('trained without')\n"
slow = functools.partial(pytest.param, marks=pytest.mark.slow)
INSTALL = f"Install torch 2.6 or newer there: {sys.executable} -m pip install 'torch>=2.6'"


def started(verb: str, stand_in: str, folder: Path, text: str = TRAIN):
    (folder / "train.py").write_text(text)
    words = [*shlex.split(verb), "--", sys.executable, "train.py"]
    done = samerun(*words, cwd=folder, env={"PYTHONPATH": stand_in, "COLUMNS": "500"})
    assert "fault of samerun's own" not in done.stderr
    return done, re.sub(r"\s+", " ", done.stdout)


@pytest.mark.parametrize("put", [torches.missing, slow(torches.old)])
def test_what_is_about_runs_works(tmp_path: Path, put) -> None:
    a, b = recorded(Script(flips=frozenset({(2, 2, "gradients")})), tmp_path)
    env = {"PYTHONPATH": put(tmp_path)}
    for words, code, said in [
        (["--help"], 0, "usage: samerun"),
        (["--version"], 0, "samerun"),
        (["runs"], 0, a.id),
        (["runs", "show", a.id], 0, a.id),
        (["diff", a.id, b.id], 1, "differs"),
        (["diff", a.id, a.id], 0, "same"),
        (["report", a.id, b.id], 0, "samerun-report.html"),
    ]:
        done = samerun(*words, cwd=tmp_path, env=env)
        assert done.returncode == code, (words, done.stderr)
        assert said in done.stdout
        assert "torch" not in done.stderr
    assert "2 runs diverge at step 2" in (tmp_path / "samerun-report.html").read_text()


# Each verb is tried every day in one of the three tests that follow, and in all of them when there is time.
@pytest.mark.parametrize(
    "verb", ["check", slow("check --controlled"), slow("diagnose"), "vary", slow("cost")]
)
def test_a_training_without_torch_is_unknown_and_says_so(tmp_path: Path, verb: str) -> None:
    done, said = started(verb, torches.missing(tmp_path), tmp_path)
    assert done.returncode == 3, done.stderr
    here = f"{sys.executable} (Python {sys.version.split()[0]})"
    assert f"exit code 1 after 0 steps; {here} has no torch. {INSTALL}" in said
    assert "No module named 'torch'" in said


@pytest.mark.parametrize("verb", [slow("check"), "cost"])
def test_a_program_that_goes_on_without_torch_is_unknown_and_says_so(tmp_path: Path, verb: str) -> None:
    done, said = started(verb, torches.missing(tmp_path), tmp_path, TRIES)
    assert done.returncode == 3, done.stderr
    assert f"has no torch. {INSTALL}" in said


RESUME = f"resume --kill-at 1 --resume-with '{sys.executable} train.py'"


@pytest.mark.parametrize("verb", [slow("check"), "diagnose", slow("vary"), slow("cost"), RESUME])
def test_a_training_with_an_old_torch_runs_unrecorded_and_is_unknown(tmp_path: Path, verb: str) -> None:
    done, said = started(verb, torches.old(tmp_path), tmp_path)
    assert done.returncode == 3, done.stderr
    assert (
        f"unknown — nothing was recorded: torch 2.5.1+cpu in {sys.executable} is too old. {INSTALL}" in said
    )
    for output in tmp_path.glob(".samerun/runs/*/output.txt"):
        assert output.read_text() == "trained 2.5.1+cpu\n"


def test_run_leaves_an_uncontrolled_training_with_an_old_torch_alone_and_says_so(tmp_path: Path) -> None:
    done, _ = started("run --mode off", torches.old(tmp_path), tmp_path)
    assert (done.returncode, done.stdout) == (0, "trained 2.5.1+cpu\n")
    (line,) = [line for line in done.stderr.splitlines() if "torch" in line and "recorded as" not in line]
    assert f"nothing was recorded: torch 2.5.1+cpu in {sys.executable} is too old. {INSTALL}" in line


@pytest.mark.parametrize("verb", ["run", "check --controlled"])
def test_a_control_that_an_old_torch_cannot_keep_is_refused_before_anything_is_trained(
    tmp_path: Path, verb: str
) -> None:
    done, said = started(verb, torches.old(tmp_path), tmp_path)
    assert done.returncode == (2 if verb == "run" else 3)
    assert "this training cannot be controlled: torch 2.5.1+cpu in " in done.stderr + said
    assert not [path for path in tmp_path.glob(".samerun/runs/*/output.txt") if "trained" in path.read_text()]


def test_run_gives_the_code_of_a_command_without_torch_and_says_why(tmp_path: Path) -> None:
    done, _ = started("run", torches.missing(tmp_path), tmp_path)
    assert done.returncode == 1
    assert f"has no torch. {INSTALL}" in done.stderr


@pytest.mark.parametrize("put", [torches.missing, torches.old])
def test_the_selftest_of_operations_is_unknown_in_one_line(tmp_path: Path, put) -> None:
    done = samerun("ops-selftest", cwd=tmp_path, env={"PYTHONPATH": put(tmp_path)})
    assert (done.returncode, done.stdout) == (3, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("samerun: samerun.ops needs torch 2.6 or newer: ")


@pytest.mark.slow
def test_a_training_that_has_torch_is_checked_by_a_samerun_that_has_none(tmp_path: Path) -> None:
    """As where samerun is started from an environment of its own."""
    (tmp_path / "train.py").write_text(REAL)
    program = "import sys; sys.modules['torch'] = None; from samerun.cli.main import main; sys.exit(main())"
    words = ["check", "--no-confirm", "--", sys.executable, "train.py"]
    for more, code, begins in [([], 0, "✓ same"), (["unseeded"], 1, "✗ differs")]:
        done = subprocess.run(
            [sys.executable, "-c", program, *words, *more], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert done.stdout.startswith(begins)
    assert "torch-cpu" in done.stdout
