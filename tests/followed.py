"""Follows small scripts line by line, each in a process of its own, without torch."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from samerun.comparing.lines.differences import Node, find_differences
from samerun.comparing.lines.reading import Process, read_processes
from samerun.runs.plan import Given, Plan

_START = """
import runpy, sys
from samerun.recording.lines import follow
from samerun.runs.plan import Plan
follow.start(sys.argv[1], Plan.from_json(sys.argv[2]).given)
sys.argv[:] = sys.argv[3:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def follow(folder: Path, text: str, unequal: str = "", given: Sequence[Given] = ()) -> list[Process]:
    """Run a script; it finds `unequal` in the environment as UNEQUAL, of which no source knows."""
    run = folder / f"run {unequal}{' given' if given else ''}"
    run.mkdir()
    (folder / "train.py").write_text(textwrap.dedent(text))
    command = [sys.executable, "-c", _START, str(run), Plan(given=tuple(given)).to_json(), "train.py"]
    env = {**os.environ, "UNEQUAL": unequal, "PYTHONHASHSEED": "0"}
    subprocess.run(command, cwd=folder, env=env, check=True, timeout=60)
    return read_processes(run)


def compare(folder: Path, text: str) -> list[Node]:
    """What differs between two runs of a script that find 1 and 2 as UNEQUAL."""
    return find_differences(follow(folder, text, "1"), follow(folder, text, "2"))
