"""The built wheel in clean environments; run by `make wheel`, which builds it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RUNS = Path(__file__).parent / "surface" / "runs"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def called(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    return subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env={**environment, "COLUMNS": "300"},
        capture_output=True,
        text=True,
        timeout=500,
    )


def packages(python: Path, folder: Path) -> set[str]:
    done = called(python, "-m", "pip", "list", "--format", "json", cwd=folder)
    return {item["name"] for item in json.loads(done.stdout)}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a clean environment's commands, with the wheel and what it depends on."""
    wheels = sorted((ROOT / "dist").glob("samerun-*.whl"))
    if len(wheels) != 1:
        pytest.skip("no wheel in dist/; make wheel builds it")
    folder = tmp_path_factory.mktemp("clean")
    assert called(sys.executable, "-m", "venv", folder / "venv", cwd=folder).returncode == 0
    commands = folder / "venv" / "bin"
    done = called(commands / "python", "-m", "pip", "install", "--quiet", wheels[0], cwd=folder)
    assert done.returncode == 0, done.stderr
    return commands


def test_it_brings_no_torch_and_works_on_runs_without(installed: Path, tmp_path: Path) -> None:
    assert "samerun" in packages(installed / "python", tmp_path)
    assert "torch" not in packages(installed / "python", tmp_path)
    samerun = installed / "samerun"
    assert called(samerun, "--help", cwd=tmp_path).returncode == 0
    assert len(list(installed.parent.glob("lib/python*/site-packages/samerun.pth"))) == 1
    assert called(samerun, "diff", RUNS / "plain", RUNS / "plain", cwd=tmp_path).returncode == 0
    assert called(samerun, "diff", RUNS / "plain", RUNS / "other", cwd=tmp_path).returncode == 1


def test_in_an_environment_of_its_own_it_says_where_it_belongs(installed: Path, tmp_path: Path) -> None:
    """As pipx and uvx would have it: the training's Python is another one."""
    assert called(sys.executable, "-m", "venv", "--without-pip", "other", cwd=tmp_path).returncode == 0
    python = tmp_path / "other" / "bin" / "python"
    (tmp_path / "train.py").write_text("print('trained')\n")
    done = called(installed / "samerun", "check", "--", python, "train.py", cwd=tmp_path)
    assert done.returncode == 3
    assert f"Install samerun there: {python} -m pip install samerun" in " ".join(done.stdout.split())
