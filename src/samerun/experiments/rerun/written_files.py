"""The working directory as a recorded run may have found it: without the files that it wrote."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from samerun.comparing.pairing import RecordedRun
from samerun.launching.copies.working_copy import make_scratch_copy


@contextlib.contextmanager
def copy_without_written(folder: Path, recorded: RecordedRun, command: Sequence[str]) -> Iterator[Path]:
    """A copy of `folder` to run `command` in, without what the run wrote there before it read it.

    It is removed at the end. A checkpoint or a cache of the run's own would send the command another way.
    Raises UsageError when the folder cannot be copied.
    """
    with make_scratch_copy(
        folder, command, instead="move data out of the folder and leave a link to it"
    ) as copy:
        for name in _list_written_first(recorded):
            _remove(copy, Path(name))
        yield copy


def _list_written_first(recorded: RecordedRun) -> list[str]:
    found: set[str] = set()
    for trace in (*recorded.compared, *recorded.other):
        read: set[str] = set()
        for row in trace.rows(trace.is_one_of("what", {"opened", "written"})):
            if row.what == "opened":
                read.add(row.detail or "")
            elif row.detail and row.detail not in read:
                found.add(row.detail)
    return sorted(found)


def _remove(copy: Path, name: Path) -> None:
    """Take a file out of the copy, and the folders that hold nothing then. Names may come from a stranger."""
    if name.is_absolute() or ".." in name.parts:
        return
    path = copy / name
    with contextlib.suppress(OSError, ValueError):
        inside = path.parent.resolve()
        if not inside.is_relative_to(copy.resolve()) or not (path.is_symlink() or path.is_file()):
            return
        path.unlink()
        for parent in path.parents:
            if parent == copy:
                break
            parent.rmdir()
