"""Checks a patch before it is offered: the patched code must give the same bits."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from samerun.comparing.compare_runs import compare_all
from samerun.comparing.comparison import Comparison
from samerun.comparing.growth import measure_growth
from samerun.editing.edit import NoEdit
from samerun.experiments.check.further_runs import WholeRuns, add_runs
from samerun.experiments.diagnose.edited_copy import make_edited_copy
from samerun.experiments.diagnose.result import FirstDifference, Proof
from samerun.experiments.living import require_living
from samerun.experiments.trials import Trials
from samerun.experiments.what_counts import weigh
from samerun.explaining.cause import Cause, make_cause
from samerun.explaining.confirm import judge
from samerun.explaining.explain import explain
from samerun.explaining.patch import Patch, patch
from samerun.runs.difference import Difference, Evidence, Strength
from samerun.runs.store import Run

_MOST_RUNS = 4  # of the patched code, where they may agree by luck
_MOST_MORE = 2  # reasons that may come to light in the patched code
_LIKELY = Strength.FAIR  # how strong the evidence for one of them must be
_FAILED = "the code with an edit fails, or the command does in a copy of the folder (see run {})"


def mend(
    trials: Trials, found: Sequence[FirstDifference], start: Path | None, by_edit: Collection[str]
) -> tuple[Patch | None, list[FirstDifference]]:
    """The patch for all causes, tried in a copy of the folder; one that does not mend is not offered.

    A control can reach further than an edit: that of `os-entropy` also seeds what a library makes. What
    still differs in the patched code has a reason of its own then, which is found (the second value) when the
    patch for it as well makes the code give the same bits.

    Where no edit fixes one of the causes, those for the others are `partial`; so are edits with which runs
    no longer differ where they did, and differ later, for a reason that was not found. `start` is the folder
    as it was before the first run; without one nothing can be tried, and the patch says so. `by_edit` as in
    `patch`.
    """
    causes = [(item.difference, cause) for item in found for cause in item.causes]
    made = patch(causes, trials.request.folder, by_edit)
    if made is not None and made.cannot:
        return replace(made, diff="", files={}, partial=made.diff), []
    if made is None or not made.diff or start is None:
        return made, []
    try:
        runs, comparison = _run_patched(trials, made, start, causes)
    except NoEdit:  # a file to edit is linked to, and too large to be copied
        return made, []
    tried = _add_runs(made, causes, runs, comparison)
    first, more = tried, list[FirstDifference]()
    while comparison.difference is not None and len(more) < _MOST_MORE:
        likely = _find_likely(comparison, {cause.source for _, cause in causes})
        if likely is None:
            break
        difference, cause = comparison.difference, make_cause(likely, confirmed=True)
        causes.append((difference, cause))
        edited = frozenset(known.source for _, known in causes[:-1])
        made = patch(causes, trials.request.folder, edited)
        if made is None or not made.diff or made.cannot:
            break
        parted = runs
        try:
            runs, comparison = _run_patched(trials, made, start, causes)
        except NoEdit:
            break
        tried = _add_runs(made, causes, runs, comparison)
        controlled = tuple(dict.fromkeys(known.source for _, known in causes))
        until = None if comparison.difference is None else comparison.difference.step
        proof = Proof(tried.runs, controlled, "patch", until, min(run.steps for run in runs))
        note = f"{likely.source} came to light in the patched code: what was controlled before had reached it"
        pair = parted[0].id, parted[-1].id
        grown = measure_growth(parted[0], parted[-1], rank=difference.rank)
        more.append(FirstDifference(difference, pair, (cause,), proof, growth=grown, notes=(note,)))
    return (tried, more) if tried.diff else (first, [])


def _run_patched(
    trials: Trials, made: Patch, start: Path, causes: Sequence[tuple[Difference, Cause]]
) -> tuple[list[Run], Comparison]:
    """Two runs of the patched code, and how they compare. Raises NoEdit when it cannot be written.

    Some more where the two may agree by luck: a patch that fixes one reason may leave another.
    """
    request, stage = trials.request, "checking the patched code"
    with make_edited_copy(start, made, request.command) as copy:
        at = request.workspace.within(copy)
        runs = trials.record(stage, 2, request.plan, at)
        comparisons = weigh(runs, compare_all(runs, steps=request.steps))
        two = WholeRuns(runs, comparisons, request.plan)
        known = {cause.source for _, cause in causes}
        whole = add_runs(trials, two, _MOST_RUNS, at, stage=stage, unsettling=False, known=known)
    return list(whole.runs), require_living(whole.comparisons[-1], trials.plain)


def _add_runs(
    made: Patch, causes: Sequence[tuple[Difference, Cause]], runs: Sequence[Run], comparison: Comparison
) -> Patch:
    same = comparison.verdict == "same"
    tried = replace(made, verified=same, runs=tuple(run.id for run in runs))
    if same:
        return tried
    none = replace(tried, diff="", files={})
    if any(run.outcome != "failed" for run in runs):
        gone = all(judge(comparison, difference) == "mended" for difference, _ in causes)
        return replace(none, partial=made.diff if gone else "")
    cannot = {cause.source: _FAILED.format(runs[-1].id) for _, cause in causes}
    return replace(none, cannot=cannot, verified=None)


def _find_likely(comparison: Comparison, known: Collection[str]) -> Evidence | None:
    assert comparison.difference is not None
    best = next((item for item in explain(comparison.difference)[0] if item.source not in known), None)
    return best if best is not None and best.strength >= _LIKELY else None
