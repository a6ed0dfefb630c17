"""A command that cannot be started is refused with what was probably meant."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from samerun.errors import CommandNotFound, UsageError
from samerun.launching.command import check_command


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text("print(1)")
    (tmp_path / "run.sh").write_text("echo 1")
    (tmp_path / "start").write_text("#!/bin/sh\n")
    (tmp_path / "start").chmod(0o755)
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["train.py", "--lr", "1"], "did you mean: python train.py --lr 1"),
        (["./train.py"], "is not executable; did you mean: python ./train.py"),
        (["./run.sh"], "did you mean: sh ./run.sh"),
        (["start"], "did you mean: ./start"),
        (["trian.py"], "did you mean: python train.py"),
        (["./trian.py"], "does not exist in .*did you mean: train.py"),
        (["sh -c true"], "did you mean: sh -c true   .without quotes"),
        (["envv", "x"], "did you mean: env x"),
        (["./folder"], "is a folder"),
        (["qqqqqqqqqqqq"], "Check its spelling"),
    ],
)
def test_the_closest_hint(work, command, said):
    with pytest.raises(CommandNotFound, match=said):
        check_command(command, work, os.environ)


@pytest.mark.parametrize("command", [["sh", "-c", "true"], ["./start"], ["/bin/sh"]])
def test_what_can_be_started_passes(work, command):
    check_command(command, work, os.environ)


def test_no_command(work):
    with pytest.raises(UsageError, match="No command was given"):
        check_command([], work, os.environ)


def test_the_path_of_the_child_counts(work):
    check_command(["start"], work, {"PATH": str(work)})
    with pytest.raises(CommandNotFound):
        check_command(["sh"], work, {"PATH": str(work)})
