"""Why a training is not the locked one, by further runs. Covers `as_locked.py`, `held.py` and
`code_places.py`."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from samerun.experiments.verify.as_locked import make_locked_copy, may_set, set_as_locked
from samerun.experiments.verify.result import VerifyResult
from samerun.launching.launch import LaunchRequest
from samerun.launching.workspace import Workspace
from samerun.runs.plan import Plan
from samerun.runs.store import Run

from ..locking import Machine, locked, verified
from ..scripts import Script


@dataclass
class Training(Machine):
    """Its gradients are those of its rate, and of two variables: each alone moves them."""

    def record(self, request: LaunchRequest, plan: Plan, at: Workspace) -> Run:
        """As a machine that has these variables now, and the code of the folder it runs in."""
        folder = at.copy or at.folder
        variables = {name: os.environ[name] for name in ("TZ", "LANG") if name in os.environ}
        moved = "0.2" in (folder / "train.py").read_text() or "TZ" in variables
        number = len(self.script.calls) + 1
        flips = frozenset({(number, 2, "gradients")} if moved else ())
        self.script = replace(self.script, flips=self.script.flips | flips)
        self.settings = {**self.settings, "environment": variables}
        return super().record(request, plan, at)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("TZ", raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")
    (tmp_path / "train.py").write_text("lr = 0.1\n")
    who = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "Train")):
        subprocess.run([*who, *words], cwd=tmp_path, check=True, capture_output=True)
    assert locked(training(), tmp_path).lock is not None
    return tmp_path


def training() -> Training:
    return Training(Script(steps=5, calls=[]))


def list_confirmed(result: VerifyResult) -> list[str]:
    return [item.name for item in result.changed if item.confirmed]


def test_code_is_confirmed_by_a_run_with_the_locked_code_in_a_copy(folder: Path) -> None:
    (folder / "train.py").write_text("lr = 0.2\n")
    machine = training()
    result = verified(machine, folder)
    assert result.verdict == "differs" and list_confirmed(result) == ["train.py"]
    assert (folder / "train.py").read_text() == "lr = 0.2\n"
    assert [call["copy"] is not None for call in machine.script.calls] == [False, False, True]
    assert {call["stop_after"] for call in machine.script.calls[1:]} == {3}  # the difference shows by then


def test_a_new_file_is_not_put_back(folder: Path) -> None:
    (folder / "train.py").write_text("lr = 0.2\n")
    (folder / "model.py").write_text("a = 1\n")
    result = verified(training(), folder)
    assert [item.name for item in result.changed] == ["train.py", "model.py"]
    assert list_confirmed(result) == ["train.py"]


def test_without_confirming_nothing_more_is_run(folder: Path) -> None:
    (folder / "train.py").write_text("lr = 0.2\n")
    machine = training()
    result = verified(machine, folder, confirm=False)
    assert result.verdict == "differs" and list_confirmed(result) == [] and len(machine.script.calls) == 1


def test_of_changed_variables_the_one_is_confirmed_that_moves_bits(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("LANG", "C")
    result = verified(training(), folder)
    assert list_confirmed(result) == ["TZ"] and {item.name for item in result.changed} == {"TZ", "LANG"}
    assert os.environ["TZ"] == "UTC" and os.environ["LANG"] == "C"


def test_code_and_a_variable_are_confirmed_together(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    (folder / "train.py").write_text("lr = 0.2\n")
    assert list_confirmed(verified(training(), folder)) == ["train.py", "TZ"]


def commit(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    who = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (("add", "."), ("commit", "-qm", "More")):
        subprocess.run([*who, *words], cwd=folder, check=True, capture_output=True)
    locked(training(), folder, update=True)


BEFORE = "import os\n\na = 1\n\nlr = 0.1\n\nb = 2\n\nc = a + b\n"
AFTER = "import os  # for paths\n\none = 1\n\nlr = 0.2\n\nb = 2\n\nc = one + b\n"


def test_an_innocent_file_is_not_confirmed_beside_the_one_that_moves_bits(folder: Path) -> None:
    commit(folder, train=BEFORE, data="rows = []\n")
    (folder / "train.py").write_text(AFTER)
    (folder / "data.py").write_text("lines = []\n")
    result = verified(training(), folder)
    assert list_confirmed(result) == ["train.py"]
    (item,) = (item for item in result.changed if item.confirmed)
    assert (item.call_site, item.text, item.places) == ("train.py:5", "lr = 0.1 → lr = 0.2", 1)


def test_two_places_that_only_together_bring_the_bits_back_are_both_named(folder: Path) -> None:
    commit(folder, train=BEFORE)
    (folder / "train.py").write_text(AFTER.replace("b = 2", "b = 0.2"))
    (item,) = verified(training(), folder).changed
    assert item.confirmed and item.places == 2
    assert (item.call_site, item.text) == ("train.py:5", "lr = 0.1 → lr = 0.2, and 1 more place")


def test_places_that_change_no_code_are_none(folder: Path) -> None:
    commit(folder, train=BEFORE)
    (folder / "train.py").write_text("# A training.\n" + BEFORE.replace("0.1", "0.2"))
    machine = training()
    (item,) = verified(machine, folder).changed
    assert item.confirmed and item.call_site == "train.py:6"
    assert len(machine.script.calls) == 3  # nothing was left to search


def test_what_moves_no_bit_when_it_is_put_back_is_ruled_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "train.py").write_text("lr = 0.1\nx = 1\n")
    always = Script(steps=5, flips=frozenset((run, 3, "loss") for run in range(1, 9)), calls=[])
    result = verified(Training(always), folder)
    assert [item.ruled_out for item in result.changed] == [True]


def test_what_does_not_bring_the_locked_bits_back_is_not_confirmed(folder: Path) -> None:
    (folder / "train.py").write_text("lr = 0.1  # as before\n")
    always = Script(steps=5, flips=frozenset((run, 3, "loss") for run in range(1, 9)), calls=[])
    result = verified(Training(always), folder)
    assert result.verdict == "differs" and list_confirmed(result) == []
    assert "with code as locked, the bits are not the locked ones either" in result.notes


def test_a_run_that_fails_with_the_locked_code_is_no_answer(folder: Path) -> None:
    (folder / "train.py").write_text("lr = 0.2\n")
    fails = Script(steps=5, crashes={3: 0}, calls=[])  # the third: as locked
    result = verified(Training(fails), folder)
    assert result.verdict == "differs" and list_confirmed(result) == []
    (note,) = [note for note in result.notes if "whether code is the reason is not known" in note]
    assert "with it as locked, the run failed (exit code 1" in note


def test_a_training_that_does_not_repeat_is_explained_by_its_own_runs(folder: Path) -> None:
    (folder / "train.py").write_text("lr = 0.1  # as before\n")
    once = Script(steps=5, kernel=2, flips=frozenset({(1, 1, "gradients")}), calls=[])
    result = verified(Training(once), folder)
    assert result.unsteady is not None and result.unsteady.verdict == "differs"
    assert list_confirmed(result) == []


def test_a_version_that_git_lacks_is_said(folder: Path) -> None:
    (folder / "train.py").write_text("lr = 0.2\n")
    import shutil

    shutil.rmtree(folder / ".git")
    result = verified(training(), folder)
    assert list_confirmed(result) == []
    assert any(note.endswith("git does not have it as it was locked") for note in result.notes)


def test_a_copy_is_never_written_through_a_link(tmp_path: Path) -> None:
    inside, outside = tmp_path / "project", tmp_path / "elsewhere"
    inside.mkdir()
    outside.mkdir()
    (outside / "train.py").write_text("mine")
    (inside / "lib").symlink_to(outside)
    with make_locked_copy(inside, {"lib/train.py": b"theirs", "new/train.py": b"x"}, []) as copy:
        assert copy is None or (copy / "new" / "train.py").read_bytes() == b"x"
    assert (outside / "train.py").read_text() == "mine" and not (inside / "new").exists()


def test_a_lock_decides_variables_that_move_numbers_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert may_set("OMP_NUM_THREADS", {"OMP_NUM_THREADS": "2"}) and may_set("TZ", {})
    assert not may_set("LD_PRELOAD", {"LD_PRELOAD": "x.so"})
    assert not may_set("TORCH_HOME", {"TORCH_HOME": "/home/eve"})
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("LANG", raising=False)
    with set_as_locked({"LANG": "C"}, ["TZ", "LANG"]):
        assert "TZ" not in os.environ and os.environ["LANG"] == "C"
    assert os.environ["TZ"] == "UTC" and "LANG" not in os.environ
