"""What `lock.py` and `verify.py` ask for, by their options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from experiments.locking import Machine, locked
from experiments.scripts import Script

from samerun.cli import exit_codes
from samerun.cli.arguments import find_verbs, parse
from samerun.cli.verify import Verify
from samerun.errors import UsageError
from samerun.experiments.verify.result import VerifyResult
from samerun.runs.lock.file import FILE
from samerun.runs.plan import Control


def request_of(line: str) -> Any:
    verb, options = parse(line.split(), find_verbs())
    return verb.request(options)  # type: ignore[attr-defined]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    locked(Machine(Script(steps=10)), tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_update_takes_the_locked_command_and_control_unless_others_are_asked_for(folder: Path) -> None:
    same = request_of("lock --update").request
    assert (same.command, same.control.mode, same.control.seed) == (("python", "train.py"), "strict", 0)
    other = request_of("lock --update --seed 5").request
    assert (other.control.mode, other.control.seed, other.control.extra) == ("strict", 5, ())
    assert request_of("lock --update --control clock").request.control.extra == ("clock",)
    assert request_of("lock --update --mode seeded -- python b.py").request.command == ("python", "b.py")


def test_seeds_as_published_are_locked_and_obeyed(folder: Path) -> None:
    assert request_of("lock --update --compatible -- python b.py").request.control.compatible
    locked(Machine(Script()), folder, update=True, control=Control(compatible=True))
    assert "compatible = true\n" in (folder / FILE).read_text()
    assert request_of("verify").request.control.compatible
    assert request_of("lock --update --seed 5").request.control.compatible


def test_a_lock_needs_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="put it after --"):
        request_of("lock")


def test_a_kept_command_is_locked_where_none_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samerun.toml").write_text('command = "python kept.py"\nseed = 3\n')
    (tmp_path / "kept.py").write_text("")
    kept = request_of("lock").request
    assert (kept.command, kept.control.seed) == (("python", "kept.py"), 3)
    assert request_of("lock -- python b.py").request.command == ("python", "b.py")


def test_as_many_steps_as_are_locked_are_a_whole_run(folder: Path) -> None:
    assert request_of("verify --steps 5").limit == 5
    for line in ("verify", "verify --steps 10", "verify --steps 99"):
        asked = request_of(line)
        assert (asked.limit, asked.request.steps) == (None, None)


@pytest.mark.parametrize("line", ["verify --add --steps 3"])
def test_options_that_contradict_each_other(folder: Path, line: str) -> None:
    with pytest.raises(UsageError):
        request_of(line)


@pytest.mark.parametrize("more", ["--steps 3", "--add", "--exact", "--leaves x"])
def test_static_runs_nothing(folder: Path, more: str) -> None:
    verb, options = parse(f"verify --static {more}".split(), find_verbs())
    with pytest.raises(UsageError, match="--static runs nothing"):
        verb.run(options)


@pytest.mark.parametrize(
    "verdict, exact, code",
    [
        ("same", False, exit_codes.SAME),
        ("within", False, exit_codes.SAME),
        ("within", True, exit_codes.DIFFERS),
        ("differs", False, exit_codes.DIFFERS),
        ("unknown", False, exit_codes.UNKNOWN),
        ("stale", False, 4),
    ],
)
def test_the_exit_code_of_each_answer(verdict: Any, exact: bool, code: int) -> None:
    assert Verify().exit_code(VerifyResult(verdict, "samerun.lock", exact=exact)) == code
