"""`diff`: compares two recorded runs and explains where they part, without a further run."""

from __future__ import annotations

from dataclasses import replace

from samerun.comparing.compare import compare
from samerun.experiments import outcomes, scope
from samerun.experiments.result import CheckResult
from samerun.experiments.why import why
from samerun.runs.manifest import Manifest
from samerun.runs.store import Run, Store

_NONE = (None, "off")  # modes that control nothing


def diff(store: Store, a: str, b: str) -> CheckResult:
    """Compare the runs of these names.

    Raises RunNotFound, SchemaError, and RunError for a damaged manifest.
    """
    runs = (store.find(a), store.find(b))
    manifests = [run.manifest for run in runs]
    comparison = compare(*runs)
    same_command = manifests[0].command == manifests[1].command
    result = CheckResult(
        comparison.verdict,
        (runs[0].id, runs[1].id),
        command=manifests[0].command if same_command else (),
        folder=manifests[0].cwd,
        steps=min(run.steps for run in runs),
        scope=scope.phrase([comparison]),
        reason=comparison.reason,
        losses=comparison.losses,
        notes=comparison.notes,
        controlled=all(manifest.mode not in _NONE for manifest in manifests),
        place=str(store.runs),
    )
    difference = comparison.difference
    failure = outcomes.failure(runs, parted=difference is not None)
    if difference is None or outcomes.is_crash(comparison, runs):
        if failure is None:
            return result
        return replace(result, verdict="unknown", reason=failure, output=outcomes.last_lines(runs))
    findings = why(difference, None)
    notes = (*result.notes, _controls(*manifests), failure, *findings.notes)
    return replace(
        result,
        difference=difference,
        pair=(_name(store, runs[0]), _name(store, runs[1])),
        causes=findings.causes,
        suspects=findings.suspects,
        notes=tuple(note for note in notes if note),
    )


def _name(store: Store, run: Run) -> str:
    """What will still find the run when there are more."""
    return run.id if run.path.parent == store.runs.absolute() else str(run.path)


def _controls(a: Manifest, b: Manifest) -> str | None:
    """What is to be said when the runs were not made under the same control."""
    one, other = _control(a), _control(b)
    return None if one == other else f"run A was made with {one}, run B with {other}"


def _control(manifest: Manifest) -> str:
    return "no control" if manifest.mode in _NONE else f"mode {manifest.mode} and seed {manifest.seed}"
