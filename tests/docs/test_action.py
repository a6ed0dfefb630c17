"""The script behind action.yml, in a real shell, with a real training."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRAINING = """
import sys, torch
model = torch.nn.Linear(2, 1)
model(torch.ones(4, 2)).sum().backward()
for p in model.parameters(): p.data = p.data - 0.1 * p.grad
print("loss of", sys.argv[1])
"""


def act(folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    summary = folder / "summary.md"
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return subprocess.run(
        ["bash", str(ROOT / ".ci" / "action")],
        cwd=folder,
        env={**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": str(summary), **settings},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_words_are_those_of_a_shell(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    done = act(tmp_path, VERB="check", OPTIONS="-n 2 --controlled", COMMAND="python train.py 'two words'")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "samerun.json").read_text())["command"][-1] == "two words"
    assert (tmp_path / "summary.md").read_text().startswith("### ✓ same\n")
    assert (tmp_path / "samerun.html").exists() and "::error" not in done.stdout


@pytest.mark.slow
def test_a_difference_fails_the_step_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    done = act(tmp_path, VERB="check", OPTIONS="", COMMAND="python train.py once")
    assert done.returncode == 1
    assert "::error file=train.py,line=3,title=samerun::✗ differs" in done.stdout
    assert (tmp_path / "summary.md").read_text().startswith("### ✗ differs\n")


@pytest.mark.slow
def test_a_lock_is_verified_and_a_change_fails_the_step(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    command = [sys.executable, "-m", "samerun", "lock", "--", "python", "train.py", "once"]
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "PATH": path}, check=True, timeout=300)
    done = act(tmp_path, VERB="verify", OPTIONS="", COMMAND="")
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "train.py").write_text(TRAINING.replace("0.1", "0.2"))
    done = act(tmp_path, VERB="verify", OPTIONS="--no-confirm", COMMAND="")
    assert done.returncode == 1
    assert "train.py" in (tmp_path / "summary.md").read_text()


def test_verify_needs_no_command(tmp_path: Path) -> None:
    done = act(tmp_path, VERB="verify", OPTIONS="--static", COMMAND="")
    assert done.returncode == 2 and "samerun.lock" in done.stderr


def test_the_action_runs_that_script() -> None:
    text = (ROOT / "action.yml").read_text()
    assert 'run: bash "$GITHUB_ACTION_PATH/.ci/action"' in text
    for name in ("VERB", "OPTIONS", "COMMAND"):
        assert f"{name}: ${{{{ inputs.{name.lower()} }}}}" in text
