"""Records the runs of one resume experiment, each in a copy of the folder that holds what it may find."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samerun.experiments.progress import Listener
from samerun.experiments.trials import Record
from samerun.launching.working_copy import make_scratch_copy
from samerun.runs.plan import Control
from samerun.runs.store import Run, Store

MOST = 5  # runs: never stopped; killed, resumed; killed again, resumed again


@dataclass(frozen=True)
class ResumeRequest:
    """A command, when to kill it, and how it is resumed."""

    command: tuple[str, ...]
    resume_with: tuple[str, ...]  # the command that goes on; the same one when it does so by itself
    kill_at: int  # before this optimizer step begins, 0-based
    folder: Path  # the working directory; every series of runs gets its own copy of it
    store: Store
    steps: int | None = None  # compare so many optimizer steps, and stop the runs after them
    control: Control | None = None  # None: the sources are left alone
    confirm: bool = True
    timeout: float | None = None  # seconds, for each run


class Attempts:
    """Records runs and tells the listener.

    Raises KeyboardInterrupt once the run that was interrupted is whole on disk.
    """

    def __init__(self, request: ResumeRequest, listener: Listener, record: Record) -> None:
        self.request = request
        self._listener = listener
        self._record = record
        self._made = 0

    def record(
        self, stage: str, command: Sequence[str], folder: Path, *, stop_after: int | None = None
    ) -> Run:
        """Record `command` in `folder`; with `stop_after` it is killed before the step after that begins."""
        request = self.request
        self._made += 1
        self._listener.stage(stage)
        self._listener.run_started(
            self._made, max(self._made, MOST), None if stop_after is None else stop_after + 1
        )
        run = self._record(
            list(command),
            store=request.store,
            tier="steps",
            window=None,
            stop_after=stop_after,
            control=request.control,
            cwd=request.folder,
            timeout=request.timeout,
            on_progress=self._progress,
            copy=folder,
        )
        self._listener.run_ended(run.id, run.steps, run.outcome, run.duration_s)
        if run.outcome == "interrupted":
            raise KeyboardInterrupt
        return run

    def _progress(self, seen: Any) -> None:
        if seen.step is not None:
            self._listener.progress(seen.step, seen.loss, seen.elapsed_s)


@contextlib.contextmanager
def copy_folder(folder: Path) -> Iterator[Path]:
    """A copy of `folder` as it is now, removed at the end. Raises UsageError when it cannot be copied."""
    with make_scratch_copy(folder, "move data out of the folder and leave a link to it") as copy:
        yield copy
