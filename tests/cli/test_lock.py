"""Covers `verify.py` too: a real training is locked, and its code changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .command import called, samerun

TRAIN = """\
import torch
torch.manual_seed(0)
torch.set_num_threads(1)
data = torch.tensor([float(line) for line in open("data.txt")])
model = torch.nn.Linear(8, 1)
rate = 0.1
for step in range(4):
    loss = (model(data + torch.rand(4, 8)) - 1).pow(2).mean()
    loss.backward()
    for p in model.parameters():
        p.data, p.grad = p.data - rate * p.grad, None
    print(f"step {step} loss {loss.item():.4f}")
"""
# The same, with other names and another layout.
REFACTORED = """\
'''Trains.'''
import torch

torch.manual_seed(0)
torch.set_num_threads(1)


def read():
    return torch.tensor([float(number) for number in open('data.txt')])


numbers = read()
network = torch.nn.Linear(8, 1)
for at in range(4):
    error = (network(numbers + torch.rand(4, 8)) - 1).pow(2).mean()
    error.backward()
    for weight in network.parameters():
        weight.data, weight.grad = weight.data - 0.1 * weight.grad, None
    print(f"step {at} loss {error.item():.4f}")
"""
COMMAND = ("--", sys.executable, "train.py")


def words(text: str) -> str:
    """On one line: where it is wrapped depends on paths."""
    return " ".join(text.split())


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "train.py").write_text(TRAIN)
    (folder / "data.txt").write_text("\n".join(map(str, range(8))))
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Train")
    done = samerun("lock", "--leaves", "leaves.arrow", *COMMAND, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "negative control: with bit" in done.stdout and "samerun.lock" in done.stdout
    return folder


@pytest.fixture
def unchanged(project: Path):
    """The project, put back afterwards."""
    yield project
    git(project, "checkout", "-q", ".")


def test_a_refactoring_is_the_same_and_one_character_differs_at_its_line(unchanged: Path) -> None:
    (unchanged / "train.py").write_text(REFACTORED)
    done = called("verify", cwd=unchanged)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("✓ same bits — 4 steps: ") and "code: train.py:1: " in done.stdout
    (unchanged / "train.py").write_text(TRAIN.replace("rate = 0.1", "rate = 0.2"))
    done = called("verify", "--no-confirm", "--json", "result.json", cwd=unchanged)
    assert done.returncode == 1, done.stdout + done.stderr
    result = json.loads((unchanged / "result.json").read_text())
    (changed,) = result["changed"]
    assert (changed["kind"], changed["call_site"]) == ("code", "train.py:6")
    first = result["moved"][0]
    assert (first["quantity"], first["step"], first["exact"]) == ("parameters", 0, True)
    assert "code: train.py:6: rate = 0.1 →" in words(done.stdout)


def test_static_takes_a_second_and_runs_nothing(unchanged: Path) -> None:
    import resource

    def call(
        *words: str, env: dict[str, str] | None = None
    ) -> tuple[subprocess.CompletedProcess[str], float]:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = samerun("verify", "--static", *words, cwd=unchanged, env=env)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return done, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    runs = sorted((unchanged / ".samerun" / "runs").iterdir())
    (done, seconds), (_, again) = call(), call()
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(
        "✓ unchanged — as locked, as far as it shows without a run: 1 code, 1 inputs"
    )
    assert min(seconds, again) <= 1.0
    (done, _) = call(env={"OMP_NUM_THREADS": "3"})
    was = os.environ.get("OMP_NUM_THREADS", "not set")
    assert done.returncode == 4 and f"variable: OMP_NUM_THREADS: {was} → 3" in done.stdout
    (unchanged / "train.py").write_text(TRAIN.replace("rate = 0.1", "rate = 0.2"))
    (done, _) = call()
    assert done.returncode == 4 and "code: train.py:6: rate" in done.stdout
    assert sorted((unchanged / ".samerun" / "runs").iterdir()) == runs


def test_static_imports_no_torch(project: Path) -> None:
    probe = (
        "import sys; from samerun.cli.main import main; code = main(['verify', '--static']); "
        "sys.exit(code or ('torch' in sys.modules) or ('pyarrow' in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", probe], cwd=project, capture_output=True).returncode == 0


def test_an_input_that_changed_is_stale_with_exit_code_4(unchanged: Path) -> None:
    (unchanged / "data.txt").write_text("1\n" * 8)
    done = called("verify", cwd=unchanged)
    assert done.returncode == 4 and done.stdout.startswith("! stale — inputs are not those"), done.stderr


def test_another_command_is_stale(project: Path) -> None:
    done = called("verify", *COMMAND, "--lr", "0.2", cwd=project)
    assert done.returncode == 4 and "the command is not the locked one" in done.stdout
    assert f"samerun lock --update -- {sys.executable} train.py --lr 0.2" in done.stdout


def test_a_lock_that_is_there_is_not_overwritten(project: Path) -> None:
    before = (project / "samerun.lock").read_text()
    done = called("lock", *COMMAND, cwd=project)
    assert done.returncode == 2 and "samerun lock --update" in done.stderr
    assert (project / "samerun.lock").read_text() == before


def test_the_file_names_nothing_of_this_machine(project: Path) -> None:
    import platform

    text = (project / "samerun.lock").read_text()
    assert str(project) not in text and sys.executable not in text and platform.node() not in text
    program = Path(sys.executable).name  # as a virtual environment names it: python, python3
    assert f'command = "{program} train.py"' in text and '"data.txt" = ' in text and "loss = " in text


def test_without_a_lock_it_says_how_to_make_one(tmp_path: Path) -> None:
    done = called("verify", cwd=tmp_path)
    assert done.returncode == 2 and "samerun lock -- python train.py" in done.stderr


@pytest.mark.parametrize("option", [("--data", "/elsewhere/data"), ("--token", "hf_abcdefghijkl12345")])
def test_a_command_of_one_machine_or_a_secret_is_refused(tmp_path: Path, option: tuple[str, ...]) -> None:
    done = called("lock", *COMMAND, *option, cwd=tmp_path)
    assert done.returncode == 2 and "samerun" in done.stderr
    assert not (tmp_path / ".samerun").exists()
