"""Trains in a folder: writes scripts there and records real commands."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from samerun.launching.launch import LaunchRequest
from samerun.launching.run import record
from samerun.launching.workspace import Workspace
from samerun.runs.difference import Row
from samerun.runs.plan import Plan
from samerun.runs.reading import Trace
from samerun.runs.store import Run, Store

EXAMPLES = Path(__file__).parent.parent / "examples"


def every_row(trace: Trace) -> list[Row]:
    return trace.rows(np.ones(len(trace), dtype=bool))


class Trainer:
    """Writes scripts into a folder and records real commands there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = Store(folder / ".samerun")

    def script(self, text: str, name: str = "train.py") -> Path:
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path

    def record(
        self, *command: str, env: Mapping[str, str] | None = None, scratch: bool = False, **plan: Any
    ) -> Run:
        words = [sys.executable, *command] if command and command[0].endswith(".py") else list(command)
        words = [sys.executable if word == "python" else word for word in words]
        return record(
            LaunchRequest(words, env or {}, timeout=120),
            Plan(**plan),
            Workspace(self.folder, self.store, fresh=scratch),
        )

    def rows(self, run: Run, what: str | None = None, stem: str = "rank0") -> list[Row]:
        rows = every_row(run.traces()[stem])
        return [row for row in rows if what is None or row.what == what]
