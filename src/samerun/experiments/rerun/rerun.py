"""Runs a recorded run's command again with what was recorded, and compares the two."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from samerun.comparing.pairing import RecordedRun, read
from samerun.comparing.unexplained_inputs import describe_unexplained
from samerun.experiments.check.diff import diff
from samerun.experiments.progress import Listener
from samerun.experiments.rerun.reasons import find_changed, list_given, list_parted, list_unreplayed
from samerun.experiments.rerun.recorded import read_plan
from samerun.experiments.rerun.result import RerunResult
from samerun.experiments.rerun.written_files import copy_without_written
from samerun.experiments.run_outcome import has_same_output
from samerun.experiments.trials import Record
from samerun.launching.run import record
from samerun.runs.plan import Replay
from samerun.runs.store import Run, Store


@dataclass(frozen=True)
class RerunRequest:
    """A recorded run, and the command that is to be that run again."""

    run: Run
    command: tuple[str, ...]
    folder: Path  # the working directory; the command runs in a copy of it
    store: Store  # of the new run
    only: tuple[str, ...] | None = None  # replay these sources alone; None: all that kept something
    without: tuple[str, ...] = ()  # replay none of these
    timeout: float | None = None  # seconds


def rerun(request: RerunRequest, listener: Listener, record: Record = record) -> RerunResult:
    """Record the command again, with what the recorded run had, and compare it with that run.

    Raises what `read_plan` and launching.run.record raise, and KeyboardInterrupt once the interrupted run is
    whole on disk.
    """
    plan = read_plan(request.run)
    replayed = Replay(str(request.run.path.resolve()), request.only, request.without)

    def tell(seen: Any) -> None:
        if seen.step is not None:
            listener.progress(seen.step, seen.loss, seen.elapsed_s)

    listener.stage(f"running {request.run.id} again")
    listener.run_started(1, 1, request.run.manifest.steps)
    recorded = read(request.run)
    with copy_without_written(request.folder, recorded) as copy:
        run = record(
            list(request.command),
            store=request.store,
            tier=plan.tier,
            window=plan.window,
            stop_after=plan.stop_after,
            control=plan.control,
            vary=plan.vary,
            cwd=request.folder,
            timeout=request.timeout,
            on_progress=tell,
            copy=copy,
            replay=replayed,
        )
    listener.run_ended(run.id, run.steps, run.outcome, run.duration_s)
    if run.outcome == "interrupted":
        raise KeyboardInterrupt
    return _compare(request, recorded, replayed, run)


def _compare(request: RerunRequest, recorded: RecordedRun, replayed: Replay, run: Run) -> RerunResult:
    compared = diff(request.store, [request.run, run])
    # It is of sources that were replayed too; `unreplayed` names those that were not.
    luck = describe_unexplained(recorded)
    compared = replace(compared, notes=tuple(note for note in compared.notes if note != luck))
    printed = compared.verdict != "same" or has_same_output([request.run, run]) is not False
    return RerunResult(
        compared=compared,
        of=request.run.id,
        given=list_given(run),
        changed=find_changed(compared),
        parted=list_parted(request.run, run, replayed),
        unreplayed=list_unreplayed(request.run, read(run), compared, replayed),
        printed_alike=printed,
    )
