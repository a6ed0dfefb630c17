"""`check`: record the command several times, compare, look closer where the runs part, explain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from samerun.comparing.compare_runs import compare_all, compare_whole
from samerun.comparing.comparison import Comparison, list_left_out, list_notes
from samerun.comparing.in_play import list_free_running, list_ids
from samerun.comparing.pairing import read
from samerun.comparing.unexplained_inputs import describe_unexplained
from samerun.experiments import run_outcome, scope
from samerun.experiments.check import without_steps
from samerun.experiments.check.confirm import Proof, explain_and_confirm, hides, is_in_setup
from samerun.experiments.check.first_runs import FirstRuns, holds_first, plan_first, record_first
from samerun.experiments.check.follow_values import follow_values
from samerun.experiments.check.further_runs import WholeRuns, add_runs, explain_unsettled
from samerun.experiments.check.judge import find_first_parting, judge_recorded
from samerun.experiments.check.needless import (
    describe_unreached,
    find_beyond,
    list_confirmed,
    look_after_setup,
    look_past,
)
from samerun.experiments.check.result import CheckResult
from samerun.experiments.check.zoom import (
    Zoom,
    is_of_results,
    look_at_results,
    look_closer,
    see_at_once,
    stop_after,
)
from samerun.experiments.leftover_files import find_left_behind
from samerun.experiments.living import list_losses
from samerun.experiments.original_folder import copy_without_new, list_folder
from samerun.experiments.replayed import Recorded
from samerun.experiments.request import Request
from samerun.experiments.runner import Runner
from samerun.experiments.trials import Trials
from samerun.experiments.what_counts import weigh
from samerun.explaining.cause import Findings
from samerun.explaining.confirm import confirm, is_free, points
from samerun.explaining.explain import list_suspects
from samerun.explaining.explained import Explained
from samerun.explaining.framework_seed import advise_in_framework
from samerun.health.examine import examine
from samerun.runs.difference import Difference
from samerun.runs.plan import Plan, Tier
from samerun.runs.secrets_in_text import hide_secrets
from samerun.runs.store import Run
from samerun.sources.catalogue import in_folder


def check(request: Request, runner: Runner | None = None, *, closely: bool = True) -> CheckResult:
    """Whether runs of the request's command give the same bits, and if not, where they part and why.

    `closely`: with their first steps at tier ops, so that most differences need no further look; what a lock
    holds is recorded at tier steps throughout.
    Raises KeyboardInterrupt after Ctrl-C, with the runs recorded so far whole on disk, and what
    `launching.run.record` raises when the command cannot be started.
    """
    trials = Trials(request, runner)
    before = list_folder(request.folder) if request.confirm and not request.scratch else None
    if closely:
        first = record_first(trials, request.runs, request.plan)
    else:
        first = FirstRuns(trials.record("recording", request.runs, request.plan), request.plan)
    comparisons = weigh(first.runs, compare_whole(first.runs, steps=request.steps))
    whole = add_runs(trials, WholeRuns(first.runs, comparisons, first.plan), request.up_to or 0)
    runs, comparisons = whole.runs, whole.comparisons
    trials.plain = list_losses(comparisons)
    result = start_undecided(request, runs, comparisons, first.note)
    parted = find_first_parting(runs, comparisons)
    if parted is None and whole.unsettled is not None:
        parted = len(comparisons) - 1  # it failed, where those that were left alone did not
    if parted is None:
        return judge_agreeing(result, runs, comparisons)
    return _differs(trials, result, whole, parted, before)


def explain_parted(trials: Trials, runs: Sequence[Run], steps: int | None) -> CheckResult | None:
    """Where and why runs part that are recorded already, in their first `steps` steps; None: they do not."""
    whole = all(run.outcome == "finished" for run in runs)
    comparisons = weigh(runs, (compare_whole if whole else compare_all)(runs, steps=steps))
    parted = find_first_parting(runs, comparisons)
    if parted is None:
        return None
    result = start_undecided(trials.request, runs, comparisons)
    return _differs(trials, result, WholeRuns(list(runs), comparisons, trials.request.plan), parted, None)


def judge_agreeing(
    result: CheckResult, runs: Sequence[Run], comparisons: Sequence[Comparison]
) -> CheckResult:
    """The verdict on runs that do not part, by their operations alone where they make no step."""
    if scope.count_steps(comparisons) == 0 and run_outcome.explain_failure(runs, parted=False) is None:
        return without_steps.judge(result, runs, comparisons)
    return judge_recorded(result, runs, comparisons)


def start_undecided(
    request: Request, runs: Sequence[Run], comparisons: Sequence[Comparison], note: str | None = None
) -> CheckResult:
    """What is known before there is a verdict: it is unknown until something shows otherwise."""
    notes = (*((note,) if note else ()), *list_notes(comparisons))
    return CheckResult(
        "unknown",
        tuple(run.id for run in runs),
        command=hide_secrets(request.command),
        folder=str(request.folder),
        steps=min(run.steps for run in runs),
        scope=scope.describe_scope(comparisons),
        losses=list_losses(comparisons),
        notes=tuple(dict.fromkeys((*notes, *examine(runs[0])))),
        controlled=request.control is not None,
        place=str(request.store.runs),
        verdicts=tuple(item.verdict for item in comparisons),
        in_play=list_ids(runs[0]),
        left_out=list_left_out(comparisons),
        free_running=tuple(list_free_running(read(runs[0]))),
    )


def _differs(
    trials: Trials,
    result: CheckResult,
    whole: WholeRuns,
    parted: int,
    before: frozenset[Path] | None,
) -> CheckResult:
    runs, comparisons = whole.runs, whole.comparisons
    difference = comparisons[parted].difference
    assert difference is not None
    first = Explained(difference)
    pair = runs[0].id, runs[parted + 1].id
    partings = tuple(item.difference for item in comparisons if item.difference is not None)
    counts = _pass_setup(first, (runs[0], runs[parted + 1]))
    shown = explain_unsettled(trials, whole, first, counts.difference)
    left = shown or _explain_left_behind(trials, first, counts, pair, before, closely=holds_first(runs[0]))
    if left is not None:
        closer, findings = left
    else:
        some_agree = any(item.verdict == "same" for item in comparisons)
        both = runs[0], runs[parted + 1]
        closer, findings = _look_closer(trials, first, both, partings, some_agree=some_agree)
    failure = run_outcome.explain_failure(runs, parted=True)
    unseen = describe_unexplained(read(runs[0]))  # said of runs that agree: it may be the cause here
    kept = (note for note in result.notes if note != unseen)
    notes = (*kept, *list_agreeing(comparisons), closer.note, failure, *findings.notes)
    return replace(
        result,
        verdict="differs",
        difference=closer.difference,
        pair=closer.pair,
        parted=pair,
        causes=advise_in_framework(closer.difference, findings.causes, trials.request.folder),
        suspects=findings.suspects,
        ruled_out=findings.ruled_out,
        notes=tuple(dict.fromkeys(note for note in notes if note)),
        output=run_outcome.read_last_lines(runs),
    )


def _explain_left_behind(
    trials: Trials,
    explained: Explained,
    counts: Explained,
    pair: tuple[str, str],
    before: frozenset[Path] | None,
    *,
    closely: bool,
) -> tuple[Zoom, Findings] | None:
    """What runs, each without the files that are new since `before`, say of what one left for the other.

    They must not part where the training does, in `counts`: a cache that the second run reads may hold what
    the first one made. Nothing where a race may be the reason as well, unless what differs is where the file
    was read: runs of a race can agree by luck.
    """
    first, evidence = explained.difference, explained.evidence
    best = find_left_behind(explained)
    others = [item for item in evidence if item.source not in in_folder() and points(item)]
    if best is None or before is None:
        return None
    if is_free(others) and (best.call_site is None or best.call_site != first.call_site):
        return None
    with copy_without_new(trials.request.folder, before, trials.request.command) as start:
        if start is None:
            return None

        def trial(sources: tuple[str, ...], count: int) -> Comparison:
            # As the runs that parted were recorded: places at tier ops are not those at tier steps.
            plan = plan_first(trials.request.plan) if closely else trials.request.plan
            plan = replace(plan, stop_after=stop_after(counts.difference))
            return trials.compare(
                f"starting each from the same files: {' + '.join(sources)}",
                count,
                plan,
                trials.request.workspace.each_from(start),
                setup=counts is explained,
            )

        findings = confirm(counts.difference, evidence, trial, lambda source: source == best.source)
    if not any(cause.confirmed for cause in findings.causes):
        return None
    known = {item.source for item in (*findings.causes, *findings.suspects)}
    more = list_suspects(first, known)
    findings = replace(
        findings, suspects=(*findings.suspects, *more), notes=(*findings.notes, *explained.notes)
    )
    return Zoom(explained, pair, True, None, None), findings


def _look_closer(
    trials: Trials,
    seen: Explained,
    runs: tuple[Run, Run],
    partings: tuple[Difference, ...],
    *,
    some_agree: bool,
) -> tuple[Zoom, Findings]:
    request, first = trials.request, _pass_setup(seen, runs)
    pair = runs[0].id, runs[1].id
    if is_of_results(seen.difference):
        return _confirm(trials, look_at_results(trials, seen, pair, request.control), first, pair, partings)
    at_once = see_at_once(seen, runs, first.difference)
    if at_once is not None:
        closer, findings = _confirm(trials, at_once, first, pair, partings, second=runs[1])
        if list_confirmed(findings) or not request.confirm:
            return closer, findings
    closer = look_closer(trials, first, pair, request.control, some_agree=some_agree)
    return _confirm(trials, closer, first, pair, partings)


def _confirm(
    trials: Trials,
    closer: Zoom,
    first: Explained,
    pair: tuple[str, str],
    partings: tuple[Difference, ...],
    *,
    second: Run | None = None,
) -> tuple[Zoom, Findings]:
    """The difference that counts, and what further runs say of it; `second` as in `Proof`."""
    request, proof = trials.request, None
    if request.confirm and closer.reproduced:
        tier: Tier = "steps" if is_of_results(first.difference) else "ops"
        plan = Plan(tier=tier, window=closer.window, stop_after=closer.stop_after, control=request.control)
        recorded, other = (Recorded(trials.recorded[id_], plan) for id_ in closer.pair)
        beyond = find_beyond(trials, closer)
        later = None if second is None else Recorded(second, plan)
        proof = Proof(
            trials,
            plan,
            partings,
            recorded,
            rare=closer.rare,
            beyond=beyond,
            second=later,
            other=other,
        )
    elif request.confirm and hides(closer.explained):
        whole = Plan(tier="steps", control=request.control)
        # controlled runs of what is rare would agree by chance
        again = trials.compare("does it come back in whole runs", 2, whole)
        back = Proof(trials, whole, partings, rare=True) if again.verdict == "differs" else None
        return closer, explain_and_confirm(closer.explained, back)
    findings = explain_and_confirm(closer.explained, proof)
    passed: list[str] = []  # what differs before that and reaches nothing
    while proof is not None and (past := look_past(closer, findings, proof, first, pair)):
        passed.append(past.note)
        closer, proof = past.closer, past.proof
        findings = explain_and_confirm(closer.explained, proof)
    after = None if proof is None else look_after_setup(closer, findings, proof)
    if after is not None:
        passed.append(describe_unreached(closer, after[0]))
        closer, proof, findings = after
    findings = replace(findings, notes=(*findings.notes, *passed))
    if request.confirm and (list_confirmed(findings) or second is None):
        findings = follow_values(trials, closer, findings, request.control, proof=proof)
    return closer, findings


def _pass_setup(seen: Explained, runs: tuple[Run, Run]) -> Explained:
    """The first difference but for operations of the setup."""
    if not is_in_setup(seen.difference):
        return seen
    (found,) = compare_all(runs, setup=False)
    return seen if found.difference is None else Explained(found.difference)


def list_agreeing(comparisons: Sequence[Comparison]) -> list[str]:
    """Which runs agree with the first, when not all of them part."""
    agree = [str(number + 2) for number, item in enumerate(comparisons) if item.verdict == "same"]
    return [f"run 1 agrees with run {', '.join(agree)} and differs from the others"] if agree else []
