"""Calls `samerun` as a user does, in a process of its own; or in this one, where that is no difference."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

from samerun.cli.main import main


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


def called(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The same in this process, where neither its start nor its signals are what a test is about.

    To start Python and import all that a verb needs takes as long as many a verb.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    here = os.getcwd()
    os.chdir(cwd)
    try:
        with (
            patch.dict(os.environ, {"NO_COLOR": "1"}),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = main(words)
    finally:
        os.chdir(here)
    said = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return subprocess.CompletedProcess([*words], code, *said)
