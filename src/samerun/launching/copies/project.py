"""The project that a folder is a part of."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

REPOSITORIES = frozenset({".git", ".hg", ".jj"})
_BEGINS = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")
_PACKAGE = "__init__.py"
_MOST_LEVELS = 4  # above a folder, in which such files are looked for


def find_project(folder: Path) -> Path | None:
    """The folder of the project that a real path lies in; None where it is that folder, or in no project.

    That is its repository; else the highest folder near it that has a file which projects begin with, or the
    one that its package lies in.
    """
    if _has(folder, REPOSITORIES):
        return None
    parents = [parent for parent in folder.parents if can_be_a_project(parent)]
    for parent in parents:
        if _has(parent, REPOSITORIES):
            return parent
    below = folder
    found = None
    for parent in parents[:_MOST_LEVELS]:
        if _has(parent, _BEGINS) or _has(below, (_PACKAGE,)):
            found = parent
        below = parent
    return found


def _has(folder: Path, names: Collection[str]) -> bool:
    return any((folder / name).exists() for name in names)


def can_be_a_project(folder: Path) -> bool:
    """Whether it is not one for everything: a home, its parents, a folder of the system's (/tmp, /data)."""
    try:
        home = Path.home()
    except RuntimeError:  # none is known
        home = Path("/")
    return len(folder.parts) > 2 and not home.is_relative_to(folder)
