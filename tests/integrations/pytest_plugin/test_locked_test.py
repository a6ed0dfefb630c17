"""The fixture samerun_lock, in a suite of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

from samerun.integrations.pytest_plugin.locked_test import list_updates, make_assert, name_lock

SUITE = """\
import pytest, torch

@pytest.mark.parametrize("size", [2, 3])
def test_weights(samerun_lock, size):
    samerun_lock(lambda: torch.nn.Linear(size, 1))
    samerun_lock(lambda: torch.rand(2) * 1, name="draws")
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    without = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")  # slow to import
    command = [sys.executable, "-m", "pytest", "-q", *without, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_update_writes_what_the_next_run_compares_with(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    done = run(tmp_path, "--samerun-update")
    assert done.returncode == 0, done.stdout
    assert "test_suite.py::test_weights[2]: new" in done.stdout
    kept = sorted(path.name for path in (tmp_path / "__samerun__").iterdir())
    assert len(kept) == 4 and all(name.startswith("test_suite.test_weights_") for name in kept)
    (tmp_path / "test_suite.py").write_text(SUITE.replace("* 1", "* 2"))
    done = run(tmp_path)
    assert done.returncode == 1 and "2 failed" in done.stdout and "moved: value" in done.stdout


def test_an_update_says_what_moved(tmp_path: Path) -> None:
    config = SimpleNamespace(getoption=lambda name: True)
    item = SimpleNamespace(
        nodeid="t.py::test_a", name="test_a", path=tmp_path / "t.py", config=config, user_properties=[]
    )
    samerun_lock = make_assert(item)  # type: ignore[arg-type]
    for value in (1, 1, 2):
        samerun_lock(lambda value=value: [value, 0])
    said = [text for _, text in item.user_properties]
    assert said == [f"t.py::test_a: {what}" for what in ("new", "no digest moved", "moved: [0]")]


def test_each_test_has_a_file_of_its_own(tmp_path: Path) -> None:
    def name(words: str, more: str = "") -> Path:
        item = SimpleNamespace(nodeid=f"t.py::{words}", name=words, path=tmp_path / "t.py")
        return name_lock(item, more)  # type: ignore[arg-type]

    assert name("test_a") == tmp_path / "__samerun__" / "t.test_a.lock"
    names = [
        name("test_a[x/y]"),
        name("test_a[x_y]"),
        name("test_a", "b"),
        name("C::test_a"),
        name("C_test_a"),
    ]
    assert len(set(names)) == 5 and {path.parent for path in names} == {tmp_path / "__samerun__"}


def test_updates_are_told_once() -> None:
    said = ("samerun_updated", "a: new")
    reports = [SimpleNamespace(when=when, user_properties=[said]) for when in ("setup", "call", "teardown")]
    assert list_updates(reports) == ["a: new"] and list_updates([SimpleNamespace()]) == []
