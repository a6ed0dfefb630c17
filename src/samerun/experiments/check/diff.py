"""`diff`: compares recorded runs and explains where they part, without a further run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from samerun.comparing.compare_runs import compare_all, compare_whole
from samerun.comparing.comparison import Comparison, list_left_out, list_notes
from samerun.comparing.in_play import list_ids
from samerun.comparing.uncontrolled import read_control
from samerun.experiments import run_outcome, scope
from samerun.experiments.check.confirm import explain_and_confirm
from samerun.experiments.check.judge import find_first_parting, judge_recorded
from samerun.experiments.check.line_hint import describe_line_hint
from samerun.experiments.check.result import CheckResult
from samerun.experiments.living import list_losses
from samerun.experiments.what_counts import weigh
from samerun.explaining.cause import Cause, Findings
from samerun.explaining.explained import Explained
from samerun.runs.manifest import Manifest
from samerun.runs.store import Run, Store
from samerun.sources.catalogue import find_sources

_NONE = (None, "off")  # modes that control nothing


def diff(store: Store, runs: Sequence[Run]) -> CheckResult:
    """Compare two runs or more, each with the first.

    `store` is where their names are looked up. Raises SchemaError, and RunError for a damaged manifest.
    """
    manifests = [run.manifest for run in runs]
    whole = all(run.outcome == "finished" for run in runs)
    comparisons = weigh(runs, (compare_whole if whole else compare_all)(runs), recorded_apart=True)
    result = CheckResult(
        "unknown",
        tuple(run.id for run in runs),
        command=manifests[0].command if len({item.command for item in manifests}) == 1 else (),
        folder=manifests[0].cwd,
        foreign=not runs[0].lies_in_its_folder,
        steps=min(run.steps for run in runs),
        scope=scope.describe_scope(comparisons),
        losses=list_losses(comparisons),
        notes=list_notes(comparisons),
        controlled=all(manifest.mode not in _NONE for manifest in manifests),
        place=str(store.runs),
        verdicts=tuple(item.verdict for item in comparisons),
        in_play=list_ids(runs[0]),
        left_out=list_left_out(comparisons),
    )
    parted = find_first_parting(runs, comparisons)
    if parted is None:
        return judge_recorded(result, runs, comparisons)
    failure = run_outcome.explain_failure(runs, parted=True)
    return _differs(store, result, runs[0], comparisons[parted], runs[parted + 1], failure)


def _differs(
    store: Store, result: CheckResult, a: Run, comparison: Comparison, b: Run, failure: str | None
) -> CheckResult:
    difference = comparison.difference
    assert difference is not None
    explained = Explained(difference)
    findings = explain_and_confirm(explained, None)
    hint = describe_line_hint(explained, a, b)
    controls = _compare_controls(a.manifest, b.manifest)
    if controls is not None:
        findings = _blame_controls(findings, a.manifest, b.manifest, controls)
    notes = (*result.notes, controls, failure, *findings.notes, hint)
    return replace(
        result,
        verdict="differs",
        difference=difference,
        pair=(_name(store, a), _name(store, b)),
        parted=(a.id, b.id),
        causes=findings.causes,
        suspects=findings.suspects,
        notes=tuple(dict.fromkeys(note for note in notes if note)),
    )


def _name(store: Store, run: Run) -> str:
    """What will still find the run when there are more."""
    return run.id if run.path.parent == store.runs.absolute() else str(run.path)


def _compare_controls(a: Manifest, b: Manifest) -> str | None:
    """What is to be said when the runs were not made under the same control."""
    one, other = _describe_control(a), _describe_control(b)
    return None if one == other else f"run A was made with {one}, run B with {other}"


def _blame_controls(findings: Findings, a: Manifest, b: Manifest, controls: str) -> Findings:
    """The reason and the fix of the sources that samerun itself gave other values in these runs.

    Where the best cause is one of them, what was not controlled otherwise is no other explanation.
    """
    control_a, control_b = (read_control(manifest) for manifest in (a, b))
    seed = next(item.seed for item in (a, b) if item.mode not in _NONE)
    fix = f"make both runs under the same control, such as samerun run --seed {seed}"

    def is_blamed(cause: Cause) -> bool:
        source = find_sources()[cause.source]
        return source.is_controlled_by(control_a) or source.is_controlled_by(control_b)

    def blame(causes: Sequence[Cause]) -> tuple[Cause, ...]:
        blamed = (
            replace(item, evidence=controls, advice=fix) if is_blamed(item) else item for item in causes
        )
        return tuple(blamed)

    causes = findings.causes
    if causes and is_blamed(causes[0]):
        causes = tuple(item for item in causes if is_blamed(item))
    return replace(findings, causes=blame(causes), suspects=blame(findings.suspects))


def _describe_control(manifest: Manifest) -> str:
    return "no control" if manifest.mode in _NONE else f"mode {manifest.mode} and seed {manifest.seed}"
