"""A run's folder, a plan for it, and child processes in which small real modules stand for the rest."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import samerun
from samerun.launching.launch import LaunchRequest, Outcome, launch
from samerun.runs.plan import Control, Plan

HERE = Path(__file__).parent


class Launched:
    """Launches commands with the fake catalogue and recorder, and reads what they told."""

    def __init__(self, folder: Path) -> None:
        self.cwd = folder / "work"
        self.run = folder / "run"
        self.told = folder / "told"
        self.cwd.mkdir()
        self.run.mkdir()

    def write(self, name: str, text: str) -> Path:
        path = self.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def __call__(
        self, *command: str, control: Control | None = None, stop_after=None, env=None, **rest
    ) -> Outcome:
        plan = Plan(run=str(self.run), control=control, stop_after=stop_after)
        real = os.path.dirname(samerun.__file__)
        fakes = os.pathsep.join([str(HERE / "overlay"), str(HERE / "stubs"), str(self.cwd)])
        env = {"REAL_SAMERUN": real, "TOLD": str(self.told), "PYTHONPATH": fakes, **(env or {})}
        words = [sys.executable if word == "python" else word for word in command]
        return launch(LaunchRequest(words, env, **rest), plan, self.cwd)

    @property
    def output(self) -> str:
        return (self.run / "output.txt").read_text()

    @property
    def said(self) -> list[str]:
        return self.told.read_text().splitlines() if self.told.exists() else []

    @property
    def complaints(self) -> str:
        paths = [self.run / name for name in ("inject-error.txt", "recording-error.txt")]
        return "".join(path.read_text() for path in paths if path.exists())


@pytest.fixture
def launched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Launched:
    monkeypatch.setattr("samerun.controls.build_environment", lambda control: {"FAKE_SETTING": control.mode})
    return Launched(tmp_path)
