"""The working directory as it was before the first run: what that run leaves can be taken away again."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from samerun.launching.scratch import is_left_out, scratch_copy

_MOST_BYTES = 512 << 20
_MOST_FILES = 20_000


@contextlib.contextmanager
def beginning(folder: Path) -> Iterator[Path | None]:
    """A copy of `folder` as it is now, removed at the end; None when it is too big to copy unasked."""
    with contextlib.ExitStack() as stack:
        yield stack.enter_context(scratch_copy(folder)) if _is_small(folder) else None


def _is_small(folder: Path) -> bool:
    files = size = 0
    for path, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not is_left_out(Path(path, name))]
        files += len(names)
        for name in names:
            try:
                size += os.lstat(os.path.join(path, name)).st_size
            except OSError:
                return False
        if files > _MOST_FILES or size > _MOST_BYTES:
            return False
    return True
