"""A diagnosis from what is recorded already, without a further run."""

from __future__ import annotations

from collections.abc import Sequence

from samerun.comparing.draw_ledger import build_ledger
from samerun.comparing.growth import measure_growth
from samerun.experiments.check.diff import diff
from samerun.experiments.check.result import CheckResult
from samerun.experiments.diagnose.result import Diagnosis, FirstDifference
from samerun.experiments.diagnose.storage import load
from samerun.experiments.lookup import Lookup
from samerun.runs.store import Run, Store


def diagnose_runs(runs: Sequence[Run], store: Store) -> Diagnosis:
    """What is known of these runs: of one alone its saved diagnosis, else how they compare.

    Raises SchemaError, and RunError for a damaged manifest or diagnosis.
    """
    if len(runs) == 1:
        return load(runs[0]) or Diagnosis(_describe_alone(runs[0]), complete=False, recorded=1)
    return build_diagnosis(diff(store, runs), Lookup(store, runs))


def build_diagnosis(result: CheckResult, lookup: Lookup) -> Diagnosis:
    """The outcome of a check or a diff with how its difference grows, and the draws around it."""
    difference, pair = result.difference, result.pair
    if difference is None or pair is None:
        return Diagnosis(result, complete=False, recorded=len(result.runs))
    whole, near = _find_both(lookup, select_parted(result)), _find_both(lookup, pair)
    found = FirstDifference(
        difference,
        pair,
        result.causes,
        None,
        result.ruled_out,
        None if whole is None else measure_growth(*whole, rank=difference.rank),
        () if near is None else build_ledger(*near, rank=difference.rank),
    )
    return Diagnosis(result, (found,), complete=False, recorded=len(result.runs))


def select_parted(result: CheckResult) -> tuple[str, str] | None:
    """The two whole runs to hold against each other: those that part first, or the first two of equal ones.

    None for one run alone.
    """
    if result.parted is not None or len(result.runs) < 2:
        return result.parted
    return result.runs[0], result.runs[1]


def _find_both(lookup: Lookup, names: tuple[str, str] | None) -> tuple[Run, Run] | None:
    if names is None:
        return None
    a, b = map(lookup.find, names)
    return None if a is None or b is None else (a, b)


def _describe_alone(run: Run) -> CheckResult:
    manifest = run.manifest
    return CheckResult(
        "unknown",
        (run.id,),
        command=manifest.command,
        folder=manifest.cwd,
        foreign=not run.lies_in_its_folder,
        steps=run.steps,
        reason="only one run: record another, and compare it with this one",
        losses=(_read_losses(run),),
        controlled=manifest.mode not in (None, "off"),
        place=str(run.path.parent),
    )


def _read_losses(run: Run) -> dict[int, tuple[float, ...]]:
    """Of the first process that has any. Raises TraceError, SchemaError."""
    return next((found for trace in run.traces().values() if (found := trace.losses())), {})
