"""A package whose own `__version__` is not what its metadata says is as it was locked, until it changes."""

from __future__ import annotations

import importlib
import platform
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from samerun.experiments.verify.installed_versions import find_version
from samerun.experiments.verify.static import verify_static
from samerun.runs.lock.file import FILE

from ..locking import Machine, lock_of, locked
from ..scripts import Script

CUDA = "2.11.0+cu130"  # of PyTorch's wheels for CUDA, whose metadata says 2.11.0
Installed = Callable[[str, str, dict[str, str]], None]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    """installed(name, version of its metadata, its files): a package that must not be imported."""
    site = tmp_path / "site"
    monkeypatch.syspath_prepend(str(site))

    def install(name: str, version: str, files: dict[str, str]) -> None:
        about = site / f"{name}-{version}.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        for path, text in files.items():
            (site / path).parent.mkdir(exist_ok=True)
            (site / path).write_text(f"raise SystemExit\n{text}\n")
        importlib.invalidate_caches()

    return install


@pytest.mark.parametrize(
    ("version", "files", "locked"),
    [
        (
            "2.11.0",
            {"wheel/__init__.py": "", "wheel/version.py": f"__version__ = '{CUDA}'\ngit_version = 'a'"},
            CUDA,
        ),
        ("2.11.0", {"wheel/__init__.py": "", "wheel/_version.py": f"version = __version__ = '{CUDA}'"}, CUDA),
        ("2.11.0", {"wheel/__init__.py": "", "wheel/__about__.py": f'__version__: str = "{CUDA}"'}, CUDA),
        ("2026.7.22", {"wheel/__init__.py": '__version__ = "2026.07.22"'}, "2026.07.22"),
        ("1.0", {"wheel.py": "__version__ = '1.0.0-final'"}, "1.0.0-final"),
        (
            "1.0",
            {"wheel/__init__.py": "from importlib.metadata import version\n__version__ = version('wheel')"},
            "1.0",
        ),
        ("1.0", {}, "1.0"),
    ],
)
def test_what_a_package_says_of_itself_is_unchanged(
    installed: Installed, version: str, files: dict[str, str], locked: str
) -> None:
    installed("samerun_wheel", version, {f"samerun_{path}": text for path, text in files.items()})
    assert find_version("samerun_wheel", locked) == locked
    assert "samerun_wheel" not in sys.modules


def test_another_version_is_told_as_the_package_says_it(installed: Installed) -> None:
    installed("samerun_wheel", "2.11.0", {"samerun_wheel/version.py": "__version__ = '2.11.0+cu128'"})
    assert find_version("samerun_wheel", CUDA) == "2.11.0+cu128"
    installed("samerun_other", "2.11.0", {"samerun_other/version.py": "__version__ = read('2.11.0+cu130')"})
    assert find_version("samerun_other", CUDA) == "2.11.0"
    assert find_version("samerun_absent", CUDA) is None
    assert find_version("python", "3.1") == platform.python_version()


def test_static_finds_a_wheel_for_cuda_unchanged_and_its_upgrade_changed(
    installed: Installed, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text("lr = 0.1\n")
    assert locked(Machine(Script(steps=4, batches=("torch-cpu",))), tmp_path).lock is not None
    installed("samerun_wheel", "2.11.0", {"samerun_wheel/version.py": f"__version__ = '{CUDA}'"})

    def changed(version: str) -> list[str]:
        lock = lock_of(tmp_path)
        environments = {
            id_: replace(item, packages={"samerun_wheel": version}) for id_, item in lock.environments.items()
        }
        lock = replace(lock, command=(sys.executable, "train.py"), environments=environments)
        found = verify_static(lock, tmp_path / FILE, tmp_path).changed
        return [item.text for item in found if item.kind == "package"]

    assert changed(CUDA) == []
    assert changed("2.10.0+cu130") == [f"samerun_wheel: 2.10.0+cu130 → {CUDA}"]


def test_a_version_that_new_code_names_besides_its_own_does_not_hide_an_upgrade(installed: Installed) -> None:
    installed("upgraded", "2.0", {"upgraded/__init__.py": '__version__ = "2.0"\nversion = "1.0"'})
    assert find_version("upgraded", "1.0") == "2.0"
