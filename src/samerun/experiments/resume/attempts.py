"""Records the runs of one resume experiment, each in a copy of the folder that holds what it may find."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from samerun.experiments.runner import Runner
from samerun.launching.copies.working_copy import make_scratch_copy
from samerun.launching.launch import LaunchRequest
from samerun.launching.workspace import Workspace
from samerun.runs.plan import Control, Plan
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
    """Records the runs of an experiment; raises what `Runner.run` raises."""

    def __init__(self, request: ResumeRequest, runner: Runner) -> None:
        self.request = request
        self._runner = runner
        self._began = time.time()

    def record(
        self, stage: str, command: Sequence[str], folder: Path, *, stop_after: int | None = None
    ) -> Run:
        """Record `command` in `folder`; with `stop_after` it is killed before the step after that begins."""
        request = self.request
        number = len(self._runner.recorded) + 1
        return self._runner.run(
            LaunchRequest(command, timeout=request.timeout),
            Plan(stop_after=stop_after, control=request.control, kept_since=self._began),
            at=Workspace(request.folder, request.store, copy=folder),
            stage=stage,
            number=number,
            of=max(number, MOST),
        )


@contextlib.contextmanager
def copy_folder(folder: Path, command: Sequence[str]) -> Iterator[Path]:
    """A copy of `folder` as it is now to run `command` in, removed at the end. Raises UsageError."""
    with make_scratch_copy(
        folder, command, instead="move data out of the folder and leave a link to it"
    ) as copy:
        yield copy
