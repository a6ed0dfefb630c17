"""One recorded run of a command: its folder, its manifest before and after, and the launch between them."""

from __future__ import annotations

import contextlib
import dataclasses
import platform
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from samerun.errors import RunError, UsageError
from samerun.launching.launch import Outcome, build_child_environment, launch
from samerun.launching.progress_files import Progress
from samerun.launching.summarise_traces import summarise_traces
from samerun.launching.working_copy import find_root, make_scratch_copy
from samerun.runs import provenance
from samerun.runs.manifest import FILE, Manifest
from samerun.runs.plan import Control, Plan, Probe, Tier
from samerun.runs.secrets_in_text import hide_secrets
from samerun.runs.store import Run, Store


def record(
    command: Sequence[str],
    *,
    store: Store,
    cwd: Path,
    tier: Tier = "steps",
    window: tuple[int, int] | None = None,
    stop_after: int | None = None,
    control: Control | None = None,
    timeout: float | None = None,
    tee: bool = False,
    env: Mapping[str, str] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    scratch: bool = False,
    copy: Path | None = None,
    values: bool = False,
    probe: Probe | None = None,
    vary: Mapping[str, Any] | None = None,
    clock: str | None = None,
) -> Run:
    """Run `command` in `cwd` (with `scratch`: in a copy of it) under the recorder; give the run on disk.

    `copy` is a copy of `cwd` to run in that is there already, with what earlier runs left in it.

    The other arguments are those of `Plan` and `launch`. The manifest says "running" until the command has
    ended, and what became of it afterwards, whatever that was; when the disk does not take that any more,
    the manifest of the run returned says so.
    Before anything is started, and then leaving no run behind: raises UsageError (CommandNotFound, …), and
    RunError when the run cannot be kept on disk.
    """
    path = store.create()
    plan = Plan(
        run=str(path),
        tier=tier,
        window=window,
        stop_after=stop_after,
        control=control,
        values=values,
        probe=probe,
        vary=vary or {},
        clock=clock,
    )
    try:
        with make_scratch_copy(cwd) if scratch else contextlib.nullcontext(copy or cwd) as folder:
            if scratch or copy is not None:
                plan = dataclasses.replace(plan, root=str(find_root(folder)))
            manifest = _make_manifest(command, plan, cwd, folder, env or {})
            _begin(manifest, path)
            outcome = Outcome(None, "failed", 0.0, error="samerun itself was stopped before the command")
            try:
                outcome = launch(
                    command, plan, cwd=folder, env=env, timeout=timeout, tee=tee, on_progress=on_progress
                )
            finally:
                run = _close_manifest(manifest, path, outcome)
    except BaseException as error:
        if isinstance(error, UsageError) or not (path / FILE).exists():
            shutil.rmtree(path, ignore_errors=True)
        raise
    return run


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


def _make_manifest(
    command: Sequence[str], plan: Plan, cwd: Path, folder: Path, env: Mapping[str, str]
) -> Manifest:
    control = plan.control
    return Manifest(
        id=Path(plan.run).name,
        command=hide_secrets(command),
        cwd=str(cwd),  # a scratch copy is gone when somebody looks for the source
        started=datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
        tier=plan.tier,
        seed=None if control is None else control.seed,
        mode=None if control is None else control.mode,
        plan=dataclasses.asdict(plan),
        git=provenance.describe_git(cwd),
        platform=platform.platform(),
        environment=provenance.select_environment(build_child_environment(plan, folder, env)),
    )


def _begin(manifest: Manifest, path: Path) -> None:
    try:
        manifest.write(path)
    except OSError as error:
        raise RunError(
            f"The manifest of the run {path} cannot be written: {error.strerror or error}. "
            "Free some space, or start samerun in a folder that can be written."
        ) from None
