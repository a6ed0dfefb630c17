"""Finds the runs that a result names, wherever they are now."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from samerun.errors import RunNotFound
from samerun.runs.manifest import FILE
from samerun.runs.store import Run, Store


class Lookup:
    """Runs by the names in a result: those given first, then their neighbours, then those of the store."""

    def __init__(self, store: Store, runs: Sequence[Run] = ()) -> None:
        self._store = store
        self._runs = tuple(runs)

    def find(self, name: str) -> Run | None:
        """The run of this id or folder, None when it is not there any more."""
        for run in self._runs:
            if name in (run.id, str(run.path)):
                return run
        try:
            return self._beside(name) or self._store.find(name)
        except (RunNotFound, OSError, ValueError):  # results may come from a stranger, with any name in them
            return None

    def _beside(self, name: str) -> Run | None:
        if Path(name).name != name:  # not an id
            return None
        beside = (Run(run.path.parent / name) for run in self._runs)
        return next((run for run in beside if (run.path / FILE).is_file()), None)
