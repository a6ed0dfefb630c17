"""Scripts in which something innocent can be controlled, and would hide what makes the runs differ.

A seed that is another one each time, memory that a fill would make equal, a race that slower threads would
settle: a control of what is innocent makes the runs equal too. None of it may be confirmed.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from samerun.experiments.check.check import check
from samerun.experiments.diagnose.diagnose import diagnose
from samerun.experiments.request import Request
from samerun.runs.store import Store

FOLDER = Path(__file__).parent / "scripts"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "training")
MARK = "# may be confirmed: "

pytestmark = pytest.mark.slow


def confirmed_by_check(request: Request) -> tuple[str, set[str]]:
    result = check(request)
    return result.verdict, {cause.source for cause in result.causes if cause.confirmed}


def confirmed_by_diagnose(request: Request) -> tuple[str, set[str]]:
    diagnosis: Any = diagnose(request)
    causes = [cause for found in diagnosis.found for cause in found.causes]
    return "differs" if diagnosis.found else "same", {cause.source for cause in causes if cause.confirmed}


@pytest.mark.parametrize("confirmed", [confirmed_by_check, confirmed_by_diagnose], ids=["check", "diagnose"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_nothing_innocent_is_confirmed(
    name: str, confirmed: Callable[[Request], tuple[str, set[str]]], tmp_path: Path
) -> None:
    shutil.copy(FOLDER / "training.py", tmp_path)
    head, code = (FOLDER / f"{name}.py").read_text().split("\n", 1)
    (tmp_path / "train.py").write_text(code)
    verdict, causes = confirmed(Request((sys.executable, "train.py"), tmp_path, Store(tmp_path / ".samerun")))
    assert verdict == "differs"
    assert causes <= set(head.removeprefix(MARK).split(", "))


def test_what_is_behind_an_operation_without_effect_is_confirmed(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "training.py", tmp_path)
    shutil.copy(FOLDER / "preview_by_a_generator.py", tmp_path / "train.py")
    request = Request((sys.executable, "train.py"), tmp_path, Store(tmp_path / ".samerun"))
    assert confirmed_by_check(request) == ("differs", {"python-random"})


def test_there_are_thirty() -> None:
    assert len(SCRIPTS) >= 30
    assert all((FOLDER / f"{name}.py").read_text().startswith(MARK) for name in SCRIPTS)
