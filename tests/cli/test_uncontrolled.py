"""`samerun run` says at its end what the run used and nothing controlled, and [tool.samerun] keeps flags.

Covers `controls.py` and `settings/files.py`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from samerun.cli.arguments import find_verbs, parse
from samerun.cli.base import choose_control
from samerun.cli.controls import choose_sources
from samerun.cli.settings.files import Settings, read_settings
from samerun.errors import UsageError
from samerun.runs.plan import Control

from .command import samerun

QUIET = """\
import torch
model = torch.nn.Linear(2, 1)
model(torch.ones(1, 2)).sum().backward()
for p in model.parameters(): p.data = p.data - 0.1 * p.grad
"""
LOUD = """\
import concurrent.futures, os, time, torch
started = time.time()
jobs = [concurrent.futures.ThreadPoolExecutor(1).submit(int, text) for text in "12"]
found = [job.result() for job in concurrent.futures.as_completed(jobs)]
if os.path.exists("last.txt"):
    torch.manual_seed(int(open("last.txt").read()))
with open("last.txt", "w") as file:
    file.write("7")
"""


def ran(folder: Path, text: str, *words: str, timeout: float = 300):
    (folder / "train.py").write_text(text)
    command = (sys.executable, "train.py")
    done = samerun("run", *words, "--", *command, cwd=folder, timeout=timeout)
    assert done.returncode == 0, done.stderr
    said = [line.removeprefix("samerun: ") for line in done.stderr.splitlines()]
    at = next((at for at, line in enumerate(said) if line.startswith("not controlled")), None)
    return [] if at is None else said[at:]


def test_what_was_used_is_said_with_its_line_and_the_flags_that_control_it(tmp_path: Path) -> None:
    (tmp_path / "last.txt").write_text("5")
    first, second, third = ran(tmp_path, LOUD + QUIET, "--seed", "3")
    assert "clock (time.time at train.py:2)" in first
    assert "resume-state (last.txt at train.py:6)" in first
    assert "train.py:3" in first and "thread-scheduling" in first and "which has no control" in first
    assert second == (f"  samerun run --seed 3 --control clock --scratch -- {sys.executable} train.py")
    assert "10 ms at each read" in third


@pytest.mark.everyday(1)
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("names = os.listdir('data')", True),
        ("names = [path for path in pathlib.Path('data').iterdir()]", True),
        ("names = sorted(os.listdir('data'))", False),
        ("names = len(os.listdir('data'))", False),
    ],
)
def test_a_listing_that_came_in_another_order_is_said(tmp_path: Path, line: str, said: bool) -> None:
    (tmp_path / "data").mkdir()
    for n in range(20):
        (tmp_path / "data" / str(n * 7 % 20)).touch()
    (tmp_path / "train.py").write_text(f"import os, pathlib\n{line}\n{QUIET}")
    command = ("--", sys.executable, "train.py")
    done = samerun("run", *command, cwd=tmp_path)
    assert ("not in the file system's order: train.py:2;" in done.stderr) is said, done.stderr
    assert "file system" not in samerun("run", "--mode", "off", *command, cwd=tmp_path).stderr


def test_a_made_up_clock_is_said(tmp_path: Path) -> None:
    """A training with a limit of time is as long as it reads the clock then."""
    (tmp_path / "train.py").write_text(LOUD + QUIET)
    command = (sys.executable, "train.py")
    done = samerun("run", "--control", "clock", "--", *command, cwd=tmp_path)
    assert "samerun: clock was controlled: the clock then gains 10 ms at each read" in done.stderr
    done = samerun("run", "--", *command, cwd=tmp_path)
    assert "was controlled" not in done.stderr


@pytest.mark.slow
def test_what_is_controlled_or_not_used_is_not_said(tmp_path: Path) -> None:
    assert ran(tmp_path, QUIET) == []
    text = "import time; time.time()\n" + QUIET
    (tmp_path / "pyproject.toml").write_text('[tool.samerun]\ncontrol = ["clock"]\nseed = 9\n')
    assert ran(tmp_path, text) == []
    (path,) = [
        path
        for path in tmp_path.glob(".samerun/runs/*/manifest.json")
        if json.loads(path.read_text())["plan"]["control"]["extra"] == ["clock"]
        and json.loads(path.read_text())["seed"] == 9
    ][-1:]
    assert path


def options(*words: str):
    return parse(["run", *words, "--", "true"], find_verbs())[1]


def test_the_command_line_wins_over_the_file_and_controls_of_both_hold(tmp_path, monkeypatch) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "x"\n[tool.samerun]\nmode = "warn"\nseed = 5\ncontrol = ["clock"]\n'
    )
    given = options("--control", "process-id", "--seed", "0")
    assert choose_control(given) == Control("warn", 0, extra=("process-id", "clock"))
    given = options("--mode", "seeded", "--control", "uninitialized-memory=nan")
    found = choose_control(given)
    assert (found.mode, found.seed, found.fill) == ("seeded", 5, "nan")
    assert found.extra == ("uninitialized-memory", "clock")
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\nx = 1\n")  # the nearest counts
    assert read_settings(inner) == Settings()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('controls = ["clock"]', "there is no key 'controls'; did you mean 'control'"),
        ("mode = 'strictly'", "the modes are off, seeded"),
        ("seed = -1", "seed is -1"),
        ("seed = true", "seed is True"),
        ("control = 'clock'", "give a list"),
        ("control = [", "cannot be read"),
        ("command = ''", "give one such as"),
        ("command = '-n 3'", "give one such as"),
        ('command = "python \'"', "cannot be read as a command"),
        ("runs = 1", "runs is 1; give an integer of 2 or more"),
        ("steps = 'all'", "steps is 'all'"),
        ("ignore = ['head.bias']", "give a table of names and reasons"),
        ('ignore = {"head.bias" = " "}', "no reason for 'head.bias'"),
        ("store = 3", "store is 3"),
        ("ignored = {}", "did you mean 'ignore'"),
    ],
)
def test_a_mistake_in_the_file_is_wrong_usage(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.samerun]\n{text}\n")
    with pytest.raises(UsageError, match=r"pyproject\.toml") as error:
        read_settings(tmp_path)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("clok", "did you mean 'clock'"),
        ("clock=nan", "takes no value 'nan'; only uninitialized-memory=nan is one"),
        ("uninitialized-memory=zero", "takes no value 'zero'; the only one is nan"),
        ("uninitialized-memory=", "takes no value ''"),
        ("hardware", "it has no control"),
    ],
)
def test_a_source_or_value_that_is_not_there_is_wrong_usage(word: str, said: str) -> None:
    with pytest.raises(UsageError, match="--control") as error:
        choose_sources([word])
    assert said in str(error.value)


def test_a_file_of_a_projects_own_table_that_is_no_toml_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("not toml")
    assert read_settings(tmp_path) == Settings()


def test_nothing_is_said_where_nothing_was_asked_to_be_controlled(tmp_path: Path) -> None:
    text = "import time; time.time()\n" + QUIET
    assert ran(tmp_path, text, "--mode", "off") == []
