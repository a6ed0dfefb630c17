from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from samerun.cli import main as cli
from samerun.cli.base import Verb
from samerun.errors import RunNotFound, TraceError, UsageError

from .command import called, samerun

_HEAVY = {"torch", "numpy", "pyarrow", "rich", "psutil", "xxhash"}
_MEASURE = """
import sys, time
from samerun.cli.main import main
try:
    main({words!r})
except SystemExit as end:
    assert not end.code, end.code
loaded = sorted({{name.split('.')[0] for name in sys.modules}} & {heavy!r})
print('MEASURED', time.process_time(), ','.join(loaded))
"""


@pytest.mark.parametrize("words", [["--help"], ["diff", "--help"], ["check", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    assert measure(words)[1] == ""


@pytest.mark.slow  # it reads the clock: a busy machine makes it fail
def test_help_starts_fast() -> None:
    # the best of three: other processes share the caches, and only our own part is meant
    assert min(float(measure(["check", "--help"])[0]) for _ in range(3)) <= 0.2


def measure(words: list[str]) -> list[str]:
    """The CPU seconds of a verb, and what is heavy among its imports."""
    script = _MEASURE.format(words=words, heavy=_HEAVY)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    said, *measured = done.stdout.splitlines()[-1].split(" ")
    assert said == "MEASURED"
    return measured


@pytest.mark.parametrize("verb", ["check", "run", "diff", "env", "runs"])
def test_the_help_of_a_verb_shows_an_example(verb: str, tmp_path: Path) -> None:
    done = samerun(verb, "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert f"example:\n  samerun {verb}" in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["check"],
        ["check", "--", "-n", "3", "python", "x.py"],
        ["nonsense"],
        ["check", "--seed", "1", "--", "python", "x.py"],
        ["check", "--mode", "strict", "--", "python", "x.py"],
        ["check", "--json", "no/such/folder/x.json", "--", "python", "x.py"],
        ["check", "--json", ".", "--", "python", "x.py"],
        ["check", "--", "no-such-command-anywhere"],
        ["run", "--", "no-such-command-anywhere"],
        ["run", "--control", "no-such-source", "--", "python", "x.py"],
        ["diff", "no-such-run", "nor-this"],
        ["runs", "show", "no-such-run"],
        ["runs", "remove"],
        ["runs", "list", "x"],
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(words: list[str], tmp_path: Path) -> None:
    done = called(*words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("samerun: ")


def test_samerun_alone_shows_the_three_commands_that_matter(tmp_path: Path) -> None:
    done = samerun(cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    shown = [
        line.split(" -- ")[0].strip() for line in done.stderr.splitlines() if " -- python train.py" in line
    ]
    assert shown == ["samerun check --steps 3", "samerun diagnose", "samerun run"]


class _Raises(Verb):
    name = "raises"
    summary = "raises what it is given"
    example = "samerun raises"
    usage = ""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def run(self, options: object) -> int:
        raise self.error


def _exit_of(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(cli, "find_verbs", lambda: {"raises": _Raises(error)})
    return cli.main(["raises"])


@pytest.mark.parametrize(
    "error, code",
    [
        (UsageError("a"), 2),
        (RunNotFound("a"), 2),
        (TraceError("a"), 3),
        (KeyboardInterrupt(), 130),
    ],
)
def test_each_error_has_its_exit_code_and_one_line(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _exit_of(error, monkeypatch) == code
    said = capsys.readouterr().err
    assert said.startswith("samerun: ")
    assert said.count("\n") == 1


def test_a_fault_of_our_own_keeps_its_traceback_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _exit_of(ZeroDivisionError("one\nby none"), monkeypatch) == 3
    said = capsys.readouterr().err
    (crash,) = (tmp_path / ".samerun").glob("crash-*.txt")
    assert said.count("\n") == 1
    assert crash.name in said
    assert "please report it" in said
    assert "Traceback" in crash.read_text()


def test_a_fault_where_nothing_can_be_written_is_still_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".samerun").write_text("a file where the folder should be")
    assert _exit_of(ZeroDivisionError("x"), monkeypatch) == 3
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "could not be saved" in said
