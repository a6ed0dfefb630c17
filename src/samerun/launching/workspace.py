"""Where runs of a command take place: in the user's folder, in one copy of it, or each in its own copy."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from samerun.launching.copies.working_copy import find_root, make_scratch_copy
from samerun.runs.store import Store


@dataclass(frozen=True)
class Workspace:
    """The folder that a command is run in, and the store that keeps the runs.

    By default that is the user's own `folder`. With `copy` it is this copy of it, with what earlier runs left
    there; with `fresh` each run has a copy of its own, of `copy` where there is one, else of `folder`.
    """

    folder: Path  # the user's working directory, which a manifest names whatever the runs were in
    store: Store
    copy: Path | None = None
    fresh: bool = False

    def within(self, copy: Path) -> Workspace:
        """In this copy, one run after the other."""
        return replace(self, copy=copy, fresh=False)

    def each_from(self, copy: Path) -> Workspace:
        """Each run in its own copy of this one."""
        return replace(self, copy=copy, fresh=True)

    @contextlib.contextmanager
    def prepare(self, command: Sequence[str]) -> Iterator[tuple[Path, Path | None]]:
        """(the folder for one run of `command`, what stands for `/` there: None where that is `/` itself).

        A copy made for the run is removed at the end. Raises UsageError when it cannot be made.
        """
        source = self.copy or self.folder
        fresh = make_scratch_copy(source, command) if self.fresh else contextlib.nullcontext(source)
        with fresh as folder:
            yield folder, find_root(folder)
