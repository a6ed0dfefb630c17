"""What cannot be written must not change an exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")


def run(code: str, **streams: object) -> int:
    text = f"import sys\nfrom samerun.cli.stderr import let_go, say\n{code}\nsys.exit(3)\n"
    env = {**os.environ, "PYTHONUNBUFFERED": ""}  # else nothing is held
    return subprocess.run([sys.executable, "-c", text], env=env, check=False, **streams).returncode  # type: ignore[call-overload,no-any-return]


def test_a_line_on_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    assert run("say('this')") == 3
    assert capfd.readouterr().err == "samerun: this\n"


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_a_full_disk_is_no_error() -> None:
    with FULL.open("w") as full:
        assert run("say('this')\nlet_go()", stderr=full) == 3
        assert run("print('held')\nlet_go()", stdout=full) == 3
        assert run("print('held')", stdout=full) == 120  # what Python does by itself
