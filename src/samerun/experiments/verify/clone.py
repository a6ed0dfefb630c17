"""A clone of the user's repository, in which commits are checked out and run: theirs is never touched."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from samerun.errors import UsageError
from samerun.launching.copies.working_copy import PREFIX
from samerun.launching.watcher import watcher

# No program that a repository or a template names is started, but for the filters of the user's own settings.
_SAFE = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "advice.detachedHead=false")
_CLONE = f"{PREFIX}bisect-"


@dataclass(frozen=True)
class Clone:
    """Its top folder, and the folder in it that is the user's working directory."""

    top: Path
    folder: Path
    head: str  # the commit that the user has checked out

    def clean(self) -> None:
        """Undo what a run wrote here."""
        self.git("reset", "-q", "--hard")
        self.git("clean", "-ffdxq")

    def git(self, *words: str) -> str:
        """What git prints here. Raises UsageError with its own words where it fails."""
        return git(self.top, *words)


def git(folder: Path, *words: str) -> str:
    """What git prints in a folder. Raises UsageError with its own words where it fails."""
    try:
        done = subprocess.run(
            ["git", *_SAFE, *words],
            cwd=folder,
            env=leave_git_out(os.environ),
            check=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
    except OSError as error:
        raise UsageError(f"git cannot be started: {error.strerror}") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or [
            f"exit code {error.returncode}"
        ]
        raise UsageError(f"git {words[0]} failed in {folder}: {said[0]}") from None
    return done.stdout.decode("utf-8", "replace")


def leave_git_out(variables: Mapping[str, str]) -> dict[str, str]:
    """Without those by which a hook leads git to the user's repository, wherever it is started."""
    return {name: value for name, value in variables.items() if not name.startswith("GIT_")}


@contextlib.contextmanager
def make_clone(folder: Path) -> Iterator[Clone]:
    """A clone of the repository that holds `folder`, removed at the end; it shares the objects of it.

    It stands where a copy of the repository would: its own modules are imported there.

    Raises UsageError where there is no repository, no commit, or no git.
    """
    top = Path(git(folder, "rev-parse", "--show-toplevel").rstrip("\n"))
    below = git(folder, "rev-parse", "--show-prefix").rstrip("\n")
    head = git(folder, "rev-parse", "--verify", "HEAD").strip()
    place = Path(tempfile.mkdtemp(prefix=_CLONE)).resolve()
    with watcher.seeing_to("folder", str(place)):
        try:
            copy = place / top.resolve().relative_to("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            git(place, "clone", "-q", "--shared", "--no-checkout", "--", str(top), str(copy))
            git(copy, "checkout", "-q", "--detach", head)
            yield Clone(copy, copy / below, head)
        finally:
            shutil.rmtree(place, ignore_errors=True)
