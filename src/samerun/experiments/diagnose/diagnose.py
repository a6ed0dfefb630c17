"""`diagnose`: finds every source behind the differences of a command's runs, one after the other.

The source behind the first difference is found as `check` finds it and proved by runs with it controlled. It
stays controlled, and what still differs then is the next first difference; until the runs agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from samerun.comparing.compare_runs import compare, compare_whole
from samerun.comparing.comparison import Comparison
from samerun.comparing.in_play import list_free_running
from samerun.comparing.pairing import read
from samerun.comparing.unexplained_inputs import may_agree_by_luck
from samerun.experiments import confidence
from samerun.experiments.check.check import judge_agreeing, list_agreeing, start_undecided
from samerun.experiments.check.first_runs import FIRST_WINDOW, FirstRuns, holds_first, record_first
from samerun.experiments.check.judge import find_first_parting
from samerun.experiments.diagnose import storage
from samerun.experiments.diagnose.controlled_runs import ControlledRuns
from samerun.experiments.diagnose.faithful import withdraw_unfaithful
from samerun.experiments.diagnose.needless import leave_out
from samerun.experiments.diagnose.patch_trial import mend
from samerun.experiments.diagnose.result import Diagnosis, FirstDifference
from samerun.experiments.diagnose.search import Search
from samerun.experiments.living import list_losses
from samerun.experiments.original_folder import copy_folder
from samerun.experiments.request import Request
from samerun.experiments.runner import Runner
from samerun.experiments.trials import Trials
from samerun.experiments.what_counts import weigh
from samerun.explaining.patch import Patch
from samerun.runs.store import Run

_MOST_SOURCES = 12
_BY_LUCK = 2  # more runs where the first agreed that need not: one pair of nine did on such a script


def diagnose(request: Request, runner: Runner | None = None, *, rare: bool = False) -> Diagnosis:
    """Every source for which runs of the request's command differ, each with its proof, and a patch.

    With `rare`, runs are recorded until two part, `request.runs` at most. Raises what `check` raises.
    """
    trials = Trials(request, runner)
    diagnosis = _diagnose(trials, rare)
    first = trials.recorded[diagnosis.check.runs[0]]
    try:
        storage.save(diagnosis, first)
    except OSError as error:
        note = f"the diagnosis could not be kept beside its runs ({error.strerror or error})"
        check = replace(diagnosis.check, notes=(*diagnosis.check.notes, note))
        return replace(diagnosis, check=check)
    return diagnosis


def _diagnose(trials: Trials, rare: bool) -> Diagnosis:
    request = trials.request
    with copy_folder(request.folder, request.command) as start:
        first = _record_first_runs(trials, rare)
        runs = first.runs
        comparisons = _compare_whole(runs, request.steps)
        trials.plain = list_losses(comparisons)
        result = start_undecided(request, runs, comparisons, first.note)
        parted = find_first_parting(runs, comparisons)
        if parted is None:
            result = judge_agreeing(result, runs, comparisons)
            equal = confidence.describe_confidence(len(result.runs)) if result.verdict == "same" else None
            return Diagnosis(result, confidence=equal, recorded=len(trials.recorded))
        pair = runs[0], runs[parted + 1]
        seen_in = 1 / (len(runs) - 1)  # the share of pairs that part
        settled = ControlledRuns(trials, start, share=seen_in if rare else None)
        search = Search(settled)
        found = _find_all(search, pair, request.steps)
        if search.complete:
            found = leave_out(settled, found)
        patch = settled.patch
        if patch is None or _may_be_luck(trials, patch, found):
            patch, more = mend(trials, found, start, settled.by_edit())
            found += more
    if patch is not None:
        patch = _require_faithful(patch, found, trials, pair[0])
        found = [replace(item, causes=tuple(map(patch.complete, item.causes))) for item in found]
    causes = tuple(cause for item in found for cause in item.causes)
    notes = (*result.notes, *list_agreeing(comparisons), *(note for item in found for note in item.notes))
    result = replace(
        result,
        verdict="differs",
        difference=found[0].difference,
        pair=found[0].pair,
        parted=(pair[0].id, pair[1].id),
        causes=causes,
        suspects=search.suspects({cause.source for cause in causes}),
        ruled_out=tuple(cause for item in found for cause in item.ruled_out),
        notes=tuple(dict.fromkeys(notes)),
    )
    return Diagnosis(
        result, tuple(found), search.complete, patch, search.confidence(), recorded=len(trials.recorded)
    )


def _require_faithful(patch: Patch, found: Sequence[FirstDifference], trials: Trials, plain: Run) -> Patch:
    """The patch, without its edits where they take something from the training."""
    if not patch.runs:
        return patch
    causes = [cause for item in found for cause in item.causes]
    return withdraw_unfaithful(patch, causes, plain, trials.recorded[patch.runs[0]], trials.request.folder)


def _may_be_luck(trials: Trials, patch: Patch, found: Sequence[FirstDifference]) -> bool:
    """Whether the runs that proved the patch may agree though it leaves something that races."""
    known = {cause.source for item in found for cause in item.causes}
    return any(set(list_free_running(read(trials.recorded[id_]))) - known for id_ in patch.runs[:1])


def _record_first_runs(trials: Trials, rare: bool) -> FirstRuns:
    request = trials.request
    first = record_first(trials, 2 if rare else request.runs, replace(request.plan, values=True))
    runs = first.runs
    while rare and len(runs) < request.runs:
        if any(item.difference is not None for item in _compare_whole(runs, request.steps)):
            break
        runs += trials.record("recording", 1, first.plan)
    if rare or not may_agree_by_luck(read(runs[0])):
        return first
    if all(item.verdict == "same" for item in _compare_whole(runs, request.steps)):
        stage = "recording again: runs of this script may agree by chance"
        runs += trials.record(stage, _BY_LUCK, first.plan)
    return first


def _compare_whole(runs: Sequence[Run], steps: int | None) -> list[Comparison]:
    return weigh(runs, compare_whole(runs, steps=steps))


def _find_all(search: Search, pair: tuple[Run, Run], steps: int | None) -> list[FirstDifference]:
    """What is behind each first difference, in the order of time."""
    found: list[FirstDifference] = []
    (comparison,) = weigh(pair, [compare(*pair, steps=steps)])
    runs: Sequence[Run] = pair
    window = FIRST_WINDOW if holds_first(pair[0]) else None
    while comparison.difference is not None and len(found) < _MOST_SOURCES:
        item, proof = search.explain(comparison.difference, (runs[0], runs[-1]), window)
        found.append(item)
        if proof is None:
            return found
        comparison, runs, window = proof.comparison, proof.runs, proof.window
    search.complete = comparison.verdict == "same"
    return found
