"""One recorded run of a command: its folder, its manifest before and after, and the launch between them."""

from __future__ import annotations

import dataclasses
import os
import platform
import secrets
import shutil
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path

from samerun.errors import RunError, UsageError
from samerun.launching.copies.mirror import SCRIPT
from samerun.launching.launch import LaunchRequest, Outcome, build_child_environment, launch
from samerun.launching.summarise_traces import summarise_traces
from samerun.launching.workspace import Workspace
from samerun.launching.written_files.keep_written import keep_written
from samerun.runs import provenance
from samerun.runs.manifest import FILE, Manifest
from samerun.runs.plan import Plan
from samerun.runs.secrets_in_text import hide_secrets
from samerun.runs.store import Run
from samerun.sources import hash_seed


def record(request: LaunchRequest, plan: Plan, at: Workspace) -> Run:
    """Run a command as `plan` says, in the workspace and under the recorder; give the run on disk.

    The `run`, the `folder`, the `root` and the `hash_seed` of the plan are filled in here. The manifest says
    "running" until the command has ended, and what became of it afterwards, whatever that was; when the disk
    does not take that any more, the manifest of the run returned says so.
    Before anything is started, and then leaving no run behind: raises UsageError (CommandNotFound, …), and
    RunError when the run cannot be kept on disk.
    """
    path = at.store.create()
    try:
        with at.prepare(request.command) as (folder, root):
            plan = dataclasses.replace(
                plan,
                run=str(path),
                folder=str(folder),
                root=None if root is None else str(root),
                hash_seed=_choose_hash_seed(plan, request.env),
            )
            manifest = _make_manifest(request, plan, at.folder, folder)
            _begin(manifest, path)
            outcome = Outcome(None, "failed", 0.0, error="samerun itself was stopped before the command")
            try:
                outcome = launch(_reach_in_copy(request, at.folder, folder), plan, folder)
            finally:
                run = _close_manifest(manifest, path, outcome)
            if run.outcome == "finished" and plan.tier != "none":
                since = datetime.fromisoformat(manifest.started).timestamp()
                keep_written(run, folder, root, since)
    except BaseException as error:
        if isinstance(error, UsageError) or not (path / FILE).exists():
            shutil.rmtree(path, ignore_errors=True)
        raise
    return run


def _reach_in_copy(request: LaunchRequest, folder: Path, copy: Path) -> LaunchRequest:
    """With the program named where it is, if it lies outside of what was copied: `../.venv/bin/python`.

    And with scripts named as the copy has them: `python /home/me/project/train.py` would run the original.
    """
    command = list(request.command)
    name = command[0] if command else ""
    if os.sep in name and not (copy / name).exists() and (folder / name).exists():
        command[0] = os.path.abspath(folder / name)
    if copy != folder:
        command = [_name_in_copy(argument, folder, copy) for argument in command]
    return dataclasses.replace(request, command=command)


def _name_in_copy(argument: str, folder: Path, copy: Path) -> str:
    """The path in the copy of a script that it has a copy of; any other argument as it is."""
    if not os.path.isabs(argument) or not argument.endswith(SCRIPT) or not os.path.isfile(argument):
        return argument
    at, name = os.path.split(argument)
    there = os.path.normpath(copy / os.path.relpath(os.path.realpath(at), folder.resolve()) / name)
    return there if os.path.isfile(there) and not os.path.samefile(there, argument) else argument


def _choose_hash_seed(plan: Plan, env: Mapping[str, str]) -> int | None:
    """A new one for each run, unless the user or a control fixes it, or another run's is replayed."""
    source = hash_seed.HashSeed()
    is_fixed = env.get(hash_seed.VARIABLE, os.environ.get(hash_seed.VARIABLE, "")) not in ("", "random")
    if plan.tier == "none" or is_fixed or source.is_controlled_by(plan.control):
        return None
    if plan.replay is not None and plan.replay.holds(source.id):
        recorded = Manifest.read(Path(plan.replay.run)).plan.get("hash_seed")
        if isinstance(recorded, int):
            return recorded
    return secrets.randbits(63)


def close(path: Path, error: str) -> None:
    """Say in the manifest of a run that it was interrupted, and why, if it still says that it is running.

    Raises RunError, and OSError when the manifest cannot be written.
    """
    manifest = Manifest.read(path)
    if manifest.outcome == "running":
        lasted = datetime.now(timezone.utc) - datetime.fromisoformat(manifest.started)
        _close_manifest(manifest, path, Outcome(None, "interrupted", lasted.total_seconds(), error=error))


def _close_manifest(manifest: Manifest, path: Path, outcome: Outcome) -> Run:
    """The run with what became of it, on disk if the disk takes it."""
    whole = dataclasses.replace(
        manifest,
        outcome=outcome.outcome,
        exit_code=outcome.exit_code,
        duration_s=outcome.duration_s,
        error=outcome.error,
    )
    try:
        whole.write(path)  # before the traces are read, which can take a while
        whole = dataclasses.replace(whole, **summarise_traces(path))
        whole.write(path)
    except OSError as error:
        said = f"the manifest cannot be written ({error.strerror or error})"
        told_ = "; ".join(part for part in (outcome.error, said) if part)
        return Run.unwritten(path, dataclasses.replace(whole, error=told_))
    return Run(path)


def _make_manifest(request: LaunchRequest, plan: Plan, cwd: Path, folder: Path) -> Manifest:
    control = plan.control
    return Manifest(
        id=Path(plan.run).name,
        command=hide_secrets(request.command),
        cwd=str(cwd),  # a scratch copy is gone when somebody looks for the source
        started=datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
        tier=plan.tier,
        seed=None if control is None else control.seed,
        mode=None if control is None else control.mode,
        plan=dataclasses.asdict(plan),
        git=provenance.describe_git(cwd),
        platform=platform.platform(),
        environment=provenance.select_environment(build_child_environment(plan, folder, request.env)),
    )


def _begin(manifest: Manifest, path: Path) -> None:
    try:
        manifest.write(path)
    except OSError as error:
        raise RunError(
            f"The manifest of the run {path} cannot be written: {error.strerror or error}. "
            "Free some space, or start samerun in a folder that can be written."
        ) from None
