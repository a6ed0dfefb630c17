"""A copy of the working directory for one run, so that what it writes is not read by the next."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from samerun.errors import UsageError

_NEVER = {".samerun"}


@contextlib.contextmanager
def scratch_copy(cwd: Path, instead: str = "run without --scratch") -> Iterator[Path]:
    """A temporary copy of `cwd`, of the same name, removed at the end.

    Links are copied as links that lead to the copy of what is inside `cwd`, and to what is outside. Virtual
    environments are linked to, not copied; `.samerun` and special files are left out.
    Raises UsageError when it cannot be copied (permissions, a full disk);
    `instead` says what else can be done.
    """
    folder = Path(tempfile.mkdtemp(prefix="samerun-scratch-")).resolve()
    try:
        copy = folder / (cwd.name or "work")
        try:
            shutil.copytree(cwd, copy, symlinks=True, ignore=_left_out)
            _mend_links(cwd, copy)
        except (OSError, shutil.Error) as error:
            raise UsageError(
                f"The working directory {cwd} cannot be copied to {folder}: {_first(error)}. "
                f"Set TMPDIR to a folder with room, or {instead}."
            ) from None
        yield copy
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _left_out(folder: str, names: Sequence[str]) -> set[str]:
    return {name for name in names if is_left_out(Path(folder, name))}


def is_left_out(path: Path) -> bool:
    """Whether no copy is made of it: our own runs, a virtual environment, a socket, a pipe."""
    return path.name in _NEVER or _is_special(path)


def _is_special(path: Path) -> bool:
    """A virtual environment, or what is no file, folder or link (sockets, pipes)."""
    mode = path.lstat().st_mode
    if stat.S_ISDIR(mode):
        return _is_environment(path)
    return not (stat.S_ISREG(mode) or stat.S_ISLNK(mode))


def _is_environment(path: Path) -> bool:
    return (path / "pyvenv.cfg").exists()


def _mend_links(cwd: Path, copy: Path) -> None:
    """Link to the environments left out, and make relative links that lead out of `cwd` lead there again."""
    for folder, folders, files in os.walk(copy):
        original = cwd / Path(folder).relative_to(copy)
        for path in original.iterdir():
            if path.is_dir() and not path.is_symlink() and _is_environment(path):
                (Path(folder) / path.name).symlink_to(path.resolve(), target_is_directory=True)
        for name in (*folders, *files):
            link = Path(folder, name)
            if link.is_symlink():
                _mend(link, original, cwd, copy)


def _mend(link: Path, original: Path, cwd: Path, copy: Path) -> None:
    """Lead an absolute link into `cwd` to its copy, and a relative one out of `cwd` to what it led to."""
    target = link.readlink()
    led_to = Path(os.path.normpath(original / target))
    inside = led_to.is_relative_to(cwd)
    if target.is_absolute() is inside:
        link.unlink()
        link.symlink_to(copy / led_to.relative_to(cwd) if inside else led_to)


def _first(error: OSError | shutil.Error) -> str:
    """The first of the errors that copytree collects."""
    reasons = error.args[0] if isinstance(error, shutil.Error) and error.args else None
    return str(reasons[0][2]) if isinstance(reasons, list) and reasons else str(error)
