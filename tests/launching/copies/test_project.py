"""Which project a folder is a part of."""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.launching.copies.project import find_project


def make(tmp_path: Path, *files: str) -> Path:
    """top/a/b/c, with these files; a name that ends in / is a folder."""
    for name in files:
        path = tmp_path / "top" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir() if name.endswith("/") else path.touch()
    folder = tmp_path / "top" / "a" / "b" / "c"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.parametrize(
    ("files", "project"),
    [
        ((".git/",), "top"),
        (("a/.git",), "top/a"),  # a worktree or a submodule
        ((".git/", "a/setup.py"), "top"),
        (("a/requirements.txt",), "top/a"),
        (("pyproject.toml", "a/setup.py"), "top"),
        (("a/b/__init__.py",), "top/a"),
        (("a/b/c/__init__.py", "a/b/__init__.py"), "top/a"),
        ((), None),
        (("README.md", "a/__init__.txt"), None),
        ((".git/", "a/b/c/.git/"), None),  # the folder is a repository
    ],
)
def test_a_project_is_a_repository_or_begins_where_projects_do(
    files: tuple[str, ...], project: str | None, tmp_path: Path
) -> None:
    found = find_project(make(tmp_path, *files))
    assert found == (None if project is None else tmp_path / project)


def test_a_home_is_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make(tmp_path, ".git/")
    monkeypatch.setenv("HOME", str(tmp_path / "top"))
    assert find_project(folder) is None
    monkeypatch.setenv("HOME", str(tmp_path / "top" / "a"))
    assert find_project(folder) is None
    monkeypatch.setenv("HOME", str(tmp_path / "other"))
    assert find_project(folder) == tmp_path / "top"
