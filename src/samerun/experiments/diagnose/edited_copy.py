"""A copy of the user's folder in which the code has the edits of a patch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from samerun.explaining.patch import Patch
from samerun.launching.copies.working_copy import find_root, make_scratch_copy


@contextlib.contextmanager
def make_edited_copy(folder: Path, made: Patch | None, command: Sequence[str]) -> Iterator[Path]:
    """A copy of `folder` to run `command` in, with this patch if there is one, removed at the end.

    Raises UsageError when it cannot be copied, and NoEdit when a file to edit is linked to in the copy, since
    it is too large to be copied.
    """
    with make_scratch_copy(folder, command) as copy:
        if made is not None:
            made.apply(copy, find_root(copy))
        yield copy
