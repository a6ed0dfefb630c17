"""A copy of the working directory for one run, so that what it writes is not read by the next."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from samerun.errors import UsageError
from samerun.launching.copies.mirror import Mirror, is_left_out
from samerun.launching.watcher import watcher

__all__ = ["find_root", "is_left_out", "make_scratch_copy"]

PREFIX = "samerun-scratch-"  # how the names of folders begin that stand for `/`


@contextlib.contextmanager
def make_scratch_copy(
    cwd: Path, command: Sequence[str] = (), *, instead: str = "run without --scratch"
) -> Iterator[Path]:
    """A temporary copy of `cwd`, of the same name, removed at the end. Nothing in it is a file of the user's.

    It stands in a folder that stands for `/`, so that what links lead to outside of `cwd`, and what its code
    or the `command` to be run there names above it, is copied to where relative paths find it; see `Mirror`
    for what is linked to instead, since it is too large or a program. Raises UsageError when it cannot be
    copied (permissions, a full disk); `instead` says what else can be done.
    """
    folder = _make_root(cwd)
    with watcher.seeing_to("folder", str(folder)):
        try:
            try:
                copy = Mirror(folder, cwd.resolve(), command).copy()
            except (OSError, shutil.Error) as error:
                raise UsageError(
                    f"The working directory {cwd} cannot be copied to {folder}: {_take_first_error(error)}. "
                    f"Set TMPDIR to a folder with room, or {instead}."
                ) from None
            yield copy
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _make_root(cwd: Path) -> Path:
    """A new folder to stand for `/`; of the same name for each copy of `cwd` that is made after another.

    A program that makes a seed of its path, as some do, would differ in each copy. Raises UsageError.
    """
    name = PREFIX + hashlib.blake2b(os.fsencode(cwd), digest_size=4).hexdigest()
    within = Path(tempfile.gettempdir()).resolve()
    for number in itertools.count():
        root = within / (f"{name}-{number}" if number else name)
        try:
            root.mkdir(mode=0o700)
            return root
        except FileExistsError:  # of another copy that is used just now, or of another user
            continue
        except OSError as error:
            raise UsageError(
                f"No copy of {cwd} can be made: the folder {root} cannot be ({error.strerror}). "
                "Set TMPDIR to a folder that can be written."
            ) from None
    raise AssertionError("there is no end of numbers")


def find_root(copy: Path) -> Path | None:
    """The folder that stands for `/`, of a copy; None for what is no copy."""
    return next((parent for parent in copy.parents if parent.name.startswith(PREFIX)), None)


def _take_first_error(error: OSError | shutil.Error) -> str:
    """The first of the errors that copytree collects."""
    reasons = error.args[0] if isinstance(error, shutil.Error) and error.args else None
    return str(reasons[0][2]) if isinstance(reasons, list) and reasons else str(error)
