from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from samerun.errors import UsageError
from samerun.experiments.lock.portable_command import make_portable, resolve_command
from samerun.runs.lock.content import Lock, LockedCode

HERE = os.path.dirname(sys.executable)


@pytest.mark.parametrize(
    "python", [sys.executable, os.path.join(HERE, os.pardir, os.path.basename(HERE), "python")]
)
def test_the_python_that_runs_samerun_is_found_again_wherever_it_lies(tmp_path: Path, python: str) -> None:
    words, beside = make_portable((python, "train.py"), tmp_path)
    assert words == (os.path.basename(python), "train.py") and beside
    lock = Lock(words, "strict", 0, 1, 1, LockedCode("0" * 32), {}, beside=beside)
    program, script = resolve_command(lock)
    assert os.path.samefile(program, sys.executable) and script == "train.py"


def test_paths_of_the_project_become_relative(tmp_path: Path) -> None:
    command = (str(tmp_path / "bin" / "python"), f"--data={tmp_path / 'data'}", "train.py")
    assert make_portable(command, tmp_path) == (("bin/python", "--data=data", "train.py"), False)


def test_a_program_on_the_path_is_called_by_its_name(tmp_path: Path) -> None:
    shell = shutil.which("sh")
    assert shell is not None
    assert make_portable((shell, "train.sh"), tmp_path) == (("sh", "train.sh"), False)


@pytest.mark.parametrize(
    "word", ["/elsewhere/data", "--data=/elsewhere/data", "--token=hf_abcdefghijkl12345"]
)
def test_what_no_other_machine_has_and_what_is_secret_is_refused(tmp_path: Path, word: str) -> None:
    with pytest.raises(UsageError):
        make_portable(("python", "train.py", word), tmp_path)
