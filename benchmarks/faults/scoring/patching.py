"""The patch that an answer offers, applied to a fresh copy and checked."""

from __future__ import annotations

import subprocess
from pathlib import Path

from scoring.answer import check
from scoring.case import Case
from scoring.copying import copy

RUNS = 3


def try_patch(case: Case, diff: str, folder: Path) -> str:
    """The verdict of `samerun check -n 3` with the patch applied to a fresh copy, or why there is none."""
    copy(case, folder)
    done = subprocess.run(
        ["git", "apply", "-"], input=diff, cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        return f"does not apply: {done.stderr.strip()}"
    return check(case, folder, RUNS)
