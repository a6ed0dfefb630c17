"""The working directory as it was before the first run: what that run leaves can be taken away again."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from samerun.errors import UsageError
from samerun.launching.copies.working_copy import is_left_out, make_scratch_copy

_MOST_BYTES = 512 << 20
_MOST_FILES = 20_000


@contextlib.contextmanager
def copy_folder(folder: Path, command: Sequence[str]) -> Iterator[Path | None]:
    """A copy of `folder` as it is now to run `command` in, removed at the end.

    None when it is too big, or cannot be copied.
    """
    with contextlib.ExitStack() as stack:
        copy = None
        if _is_small(folder):
            with contextlib.suppress(UsageError):  # a file that may not be read, a full disk
                copy = stack.enter_context(make_scratch_copy(folder, command))
        yield copy


def list_folder(folder: Path) -> frozenset[Path] | None:
    """What is in `folder` now, relative to it; None when that is too much to be copied later."""
    found: set[Path] = set()
    for path in _walk(folder):
        found.add(path.relative_to(folder))
        if len(found) > _MOST_FILES:
            return None
    return frozenset(found)


@contextlib.contextmanager
def copy_without_new(folder: Path, before: frozenset[Path], command: Sequence[str]) -> Iterator[Path | None]:
    """A copy of `folder` as it is now without what was not there before; None as `copy_folder`."""
    with copy_folder(folder, command) as copy:
        if copy is not None:
            for path in [path for path in _walk(copy) if path.relative_to(copy) not in before]:
                if path.is_symlink() or not path.is_dir():
                    path.unlink(missing_ok=True)
                else:
                    shutil.rmtree(path, ignore_errors=True)
        yield copy


def _walk(folder: Path) -> Iterator[Path]:
    """All files and folders below `folder`, and of what is left out of a copy its name alone."""
    for path, folders, files in os.walk(folder):
        yield from (Path(path, name) for name in (*folders, *files))
        folders[:] = [name for name in folders if not is_left_out(Path(path, name))]


def _is_small(folder: Path) -> bool:
    size = 0
    for files, path in enumerate(_walk(folder), 1):
        try:
            size += os.lstat(path).st_size
        except OSError:
            return False
        if files > _MOST_FILES or size > _MOST_BYTES:
            return False
    return True
