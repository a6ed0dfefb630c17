"""A suite's files at its commit, as if just cloned."""

from __future__ import annotations

import subprocess
from pathlib import Path

from guests.suite import Suite


def fresh(suite: Suite, folder: Path) -> Path:
    """The checkout in `folder`, made if need be, with nothing in it that the commit does not have."""
    place = folder / suite.name
    folder.mkdir(exist_ok=True)
    (folder / "pytest.ini").write_text("[pytest]\n")  # a suite without one would take samerun's
    if not (place / ".git").exists():
        place.mkdir(parents=True, exist_ok=True)
        _git(place, "init", "--quiet")
        _git(place, "remote", "add", "origin", suite.url)
    if not _has(place, suite.commit):
        _git(place, "fetch", "--quiet", "--depth=1", "origin", suite.commit)
    _git(place, "checkout", "--quiet", "--force", "--detach", suite.commit)
    _git(place, "clean", "-ffdxq")
    return place


def _has(place: Path, commit: str) -> bool:
    asked = ["git", "-C", str(place), "cat-file", "-e", f"{commit}^{{commit}}"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


def _git(place: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(place), *arguments], check=True)
