"""Runs a recorded run's command again with what was recorded, and compares the two."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from samerun.comparing.pairing import RecordedRun, read
from samerun.comparing.unexplained_inputs import describe_unexplained
from samerun.experiments.check.diff import diff
from samerun.experiments.rerun.reasons import find_changed, list_given, list_parted, list_unreplayed
from samerun.experiments.rerun.recorded import read_plan
from samerun.experiments.rerun.result import RerunResult
from samerun.experiments.rerun.written_files import copy_without_written
from samerun.experiments.run_outcome import has_same_output
from samerun.experiments.runner import Runner
from samerun.launching.launch import LaunchRequest
from samerun.launching.workspace import Workspace
from samerun.runs.plan import Plan, Replay
from samerun.runs.store import Run, Store
from samerun.sources.arguments import Arguments
from samerun.sources.environment import Environment


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


def rerun(request: RerunRequest, runner: Runner | None = None) -> RerunResult:
    """Record the command again, with what the recorded run had, and compare it with that run.

    Raises what `read_plan` and `Runner.run` raise.
    """
    without = request.without
    if list(request.command) != list(request.run.manifest.command):  # its own arguments hold
        without = (*without, Arguments.id, Environment.id)
    replayed = Replay(str(request.run.path.resolve()), request.only, without)
    before = read_plan(request.run)
    plan = Plan(
        tier=before.tier,
        window=before.window,
        stop_after=before.stop_after,
        control=before.control,
        vary=before.vary,
        replay=replayed,
    )
    recorded = read(request.run)
    with copy_without_written(request.folder, recorded, request.command) as copy:
        run = (runner or Runner()).run(
            LaunchRequest(request.command, timeout=request.timeout),
            plan,
            at=Workspace(request.folder, request.store).within(copy),
            stage=f"running {request.run.id} again",
            steps=request.run.manifest.steps,
        )
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
