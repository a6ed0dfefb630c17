"""Calls `samerun` as a user does: in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def samerun(
    *words: str, cwd: Path, env: dict[str, str] | None = None, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "samerun.cli", *words],
        cwd=cwd,
        env={**os.environ, "NO_COLOR": "1", **(env or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
