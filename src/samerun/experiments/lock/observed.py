"""What one run shows of all that a lock holds."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from samerun.comparing.pairing import RecordedRun, read
from samerun.experiments.lock.code_files import list_code_files
from samerun.experiments.lock.environment_class import EnvironmentClass, read_class
from samerun.experiments.lock.leaves import Leaves, list_leaves
from samerun.experiments.lock.named_files import collect_named, digest_all, digest_size, name_file
from samerun.experiments.lock.own_variables import list_own_variables
from samerun.experiments.lock.results import read_result
from samerun.experiments.lock.revisions import list_revisions
from samerun.experiments.lock.roots import compute_roots
from samerun.runs.lock.content import PORTABLE, LockedCode, LockedResult
from samerun.runs.schema import EXACT
from samerun.runs.store import Run

NAMES = "names"  # portable too: what the modules' parameters and buffers are called, in order
SHAPES = "shapes"  # and their dtypes and shapes


@dataclass(frozen=True)
class Observed:
    """A run, as a lock would hold it."""

    run: Run
    steps: int
    ranks: int
    leaves: Leaves
    roots: dict[str, str]
    structure: dict[str, str]  # names and shapes of parameters and buffers (64 hexadecimal digits each)
    code: LockedCode
    inputs: dict[str, str]
    revisions: dict[str, str]  # commits of models and data sets of a hub
    environment: EnvironmentClass
    exact: tuple[str, ...] = ()  # further quantities in which no floating point is, in this training
    result: LockedResult = field(default_factory=LockedResult)

    @property
    def portable(self) -> dict[str, str]:
        """What holds on every machine."""
        return {
            name: self.roots[name] for name in (*PORTABLE, *self.exact) if name in self.roots
        } | self.structure


def observe(run: Run, steps: int | None = None, left_out: Collection[str] = ()) -> Observed:
    """What a recorded run shows, in its first `steps` steps where given, without the quantities `left_out`.

    Raises SchemaError, and RunError for a damaged manifest.
    """
    recorded = read(run)
    leaves = list_leaves(recorded, steps).without(left_out)
    whole = run.outcome == "finished"
    return Observed(
        run=run,
        steps=run.steps if steps is None else min(run.steps, steps),
        ranks=max(len({trace.rank for trace in recorded.compared}), 1),
        leaves=leaves,
        roots=compute_roots(leaves),
        structure=_digest_structure(recorded),
        code=_read_code(recorded),
        inputs=_list_inputs(recorded),
        revisions=list_revisions(_list_opened(recorded)),
        environment=read_class(run.manifest),
        exact=("batch",) if _has_exact_batches(recorded) else (),
        result=read_result(run, leaves) if whole else LockedResult(),
    )


def _has_exact_batches(recorded: RecordedRun) -> bool:
    """Whether each batch holds integers and bytes alone."""
    for trace in recorded.compared:
        if (trace.is_one_of("what", {"batch"}) & ((trace.flags & EXACT) == 0)).any():
            return False
    return True


def _digest_structure(recorded: RecordedRun) -> dict[str, str]:
    """Of the first time that each group is named, in the order of the ranks; no shapes of an older run."""
    wholes = {NAMES: hashlib.sha256()}
    for trace in sorted(recorded.compared, key=lambda trace: (trace.rank, trace.stem)):
        seen: set[tuple[str, str | None]] = set()
        for row in trace.rows(trace.is_one_of("what", {NAMES, SHAPES})):
            if (row.what, row.name) not in seen and row.name is not None:
                seen.add((row.what, row.name))
                line = f"{row.name.partition(':')[0]} {row.detail}\n"
                wholes.setdefault(row.what, hashlib.sha256()).update(line.encode())
    return {what: whole.hexdigest() for what, whole in wholes.items()}


def _read_code(recorded: RecordedRun) -> LockedCode:
    manifest = recorded.run.manifest
    shown = list_code_files(recorded)
    files = collect_named((name_file(path, manifest.cwd), digest) for path, digest in shown.items())
    git = manifest.git or {}
    commit = git.get("commit")
    return LockedCode(
        digest_all(files),
        files,
        commit if isinstance(commit, str) else None,
        git.get("dirty") is True,
        list_own_variables(Path(manifest.cwd), files),
    )


def _list_opened(recorded: RecordedRun) -> Iterator[str]:
    for trace in (*recorded.compared, *recorded.other):
        for row in trace.rows(trace.is_one_of("what", {"opened"})):
            yield row.detail or ""


def _list_inputs(recorded: RecordedRun) -> dict[str, str]:
    """Files that the run's code read and did not write, by content, or by size where they are too large."""
    opened: dict[str, str] = {}
    written: set[str] = set()
    folder = recorded.run.manifest.cwd
    code = list_code_files(recorded)
    for trace in (*recorded.compared, *recorded.other):
        for row in trace.rows(trace.is_one_of("what", {"opened", "written"})):
            if row.detail is None or row.detail in code:
                continue
            if row.what == "written":
                written.add(row.detail)
            else:
                digest = row.digest.hex() if row.digest else digest_size(int(row.value or 0))
                opened.setdefault(row.detail, digest)
    kept = ((name_file(path, folder), digest) for path, digest in opened.items() if path not in written)
    return collect_named((name, digest) for name, digest in kept if not name.endswith(".py"))
