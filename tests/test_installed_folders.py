"""What `pip install --target` filled is no code of the user's. Covers `installed_folders.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from samerun.installed_folders import find_installed_folder, list_target_folders

_ASKS = """
import sys, dependency, mine
from samerun import callsite
for module in (dependency, mine):
    print(callsite.is_user_file(module.__file__), module.find().rsplit(":", 1)[0])
"""
_FINDS = """
import sys
from samerun import callsite
def find(): return callsite.call_site(sys._getframe())
"""


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "vendored"
    (folder / "dependency").mkdir(parents=True)
    (folder / "dependency" / "__init__.py").write_text(_FINDS)
    (folder / "mine.py").write_text(_FINDS)
    (folder / "dependency-1.0.dist-info").mkdir()
    (folder / "dependency-1.0.dist-info" / "RECORD").write_text(
        "dependency/__init__.py,sha256=x,1\n../../bin/dependency,,\n"
    )
    return folder


def test_an_installed_package_is_a_library_and_a_file_beside_it_is_the_users(target: Path) -> None:
    environment = {"PYTHONPATH": f"{target}:{Path(__file__).parents[1] / 'src'}"}
    done = subprocess.run(
        [sys.executable, "-c", _ASKS], cwd=target.parent, env=environment, capture_output=True, text=True
    )
    assert done.stdout.split() == ["False", "dependency/__init__.py", "True", "vendored/mine.py"]


def test_folders_are_found_by_what_was_recorded(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(target), str(target / "none"), *sys.path])
    list_target_folders.cache_clear()
    try:
        assert find_installed_folder(f"{target}/dependency/a.py") == f"{target}/"
        assert find_installed_folder(f"{target}/mine.py") is None
        assert find_installed_folder(f"{target}/dependency.py") is None
    finally:
        list_target_folders.cache_clear()
    own = "/venv/lib/python3.11/site-packages/"
    assert find_installed_folder(f"{own}numpy/a.py") == own
