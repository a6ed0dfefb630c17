"""What differs and does not reach the training: a preview, a probe, a model that is then made again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from samerun.comparing.compare_runs import compare_all, compare_trainings
from samerun.experiments.check.confirm import Proof, confirm_alone, explain_and_confirm, is_in_setup
from samerun.experiments.check.zoom import Zoom, choose_window, stop_after
from samerun.experiments.replayed import Recorded
from samerun.experiments.trials import Trials
from samerun.explaining.cause import Findings, make_cause
from samerun.explaining.confirm import SURE, is_free, is_not_after, points
from samerun.explaining.explained import Explained
from samerun.runs.difference import Difference
from samerun.runs.plan import Plan

_UNREACHED = "{} at {} gives other values in each run, which is not why they differ at step {}"
_WITHOUT_EFFECT = "without effect: runs that repeat the rest agree"
_NOT_ALONE = "which is not the whole reason: runs in which these are equal differ at step {} all the same"
_NOTE = "{} at {} gives other values in each run ({}), {}"


class Passed(NamedTuple):
    """What differs behind an operation, how runs prove why, and the reason to pass that operation."""

    closer: Zoom
    proof: Proof
    note: str


def look_past(
    closer: Zoom, findings: Findings, proof: Proof, first: Explained, pair: tuple[str, str]
) -> Passed | None:
    """The difference behind an operation that was confirmed and reaches nothing; None where it does.

    `first` is what differs without a look at operations, between the runs `pair`. The proof is one in which
    all that was confirmed is held.
    """
    if findings.past_setup or closer.difference.what != "operation":
        return None
    sources = list_confirmed(findings)
    if not sources or proof.recorded is None:
        return None
    held = replace(proof, held=(*proof.held, *sources))
    then = findings.then
    replayed = all(cause.replayed for cause in findings.causes if cause.confirmed)
    if then is None and replayed and closer.explained.is_seen and _may_race(first.holding(held.held)):
        # What races agrees by luck with a run that was given anything, and one was proof of what was seen.
        stage = f"replaying {' + '.join(held.held)}: runs may agree by chance"
        then = proof.recorded.repeat(proof.trials, stage, held.held, SURE - 1, setup=proof.setup).difference
    if then is not None and is_not_after(then, first.difference):
        behind = Explained(then).holding(held.held)
        seen = closer.difference, sources
        if behind.best is not None and is_free([behind.best]):  # runs that repeat the rest would tell nothing
            note = _describe(*seen, _NOT_ALONE.format(then.step))
            return Passed(replace(closer, explained=behind), held, note)
        if _is_needless(held, first.difference):
            return Passed(replace(closer, explained=behind), held, _describe(*seen, _WITHOUT_EFFECT))
    looked = _look_at_training(held, first.difference, pair) if is_in_setup(closer.difference) else None
    return None if looked is None else Passed(*looked, _describe(closer.difference, sources, _WITHOUT_EFFECT))


def find_beyond(trials: Trials, closer: Zoom) -> Explained | None:
    """What differs first but for operations of the setup, of runs that differ in one of these first."""
    if not is_in_setup(closer.difference):
        return None
    (found,) = compare_all([trials.recorded[id_] for id_ in closer.pair], setup=False)
    return None if found.difference is None else Explained(found.difference)


def look_after_setup(closer: Zoom, findings: Findings, proof: Proof) -> tuple[Zoom, Proof, Findings] | None:
    """What runs prove of the training, where what differs in the setup before it is not behind that.

    They need not agree in the setup. None where they prove nothing.
    """
    beyond = proof.beyond
    if beyond is None or not is_in_setup(closer.difference):
        return None
    after = replace(closer, explained=beyond), replace(proof, setup=False, beyond=None)
    later = [item for item in closer.explained.evidence if item.of_later]
    if later and list_confirmed(findings):
        more = confirm_alone(beyond, later, after[1])
        if list_confirmed(more):
            return (*after, more)
    if beyond.difference.phase == "setup":
        return None  # the weights that are trained differ
    if findings.past_setup and beyond.best is not None:
        if findings.then is None or findings.then.place > closer.difference.place:
            return None  # it is behind both
        cause = replace(make_cause(beyond.best, confirmed=True), replayed=findings.causes[0].replayed)
        return (*after, replace(findings, causes=(cause,), then=None))
    if list_confirmed(findings):
        return None
    more = explain_and_confirm(beyond, after[1])
    return (*after, more) if list_confirmed(more) else None


def describe_unreached(passed: Zoom, beyond: Zoom) -> str:
    """A note on the operation of the setup that is not behind what differs later."""
    seen = passed.difference
    return _UNREACHED.format(seen.name, seen.call_site or "an unknown line", beyond.difference.step)


def list_confirmed(findings: Findings) -> list[str]:
    """The sources whose part in a difference was confirmed."""
    return sorted({cause.source for cause in findings.causes if cause.confirmed})


def _may_race(behind: Explained) -> bool:
    """Whether what no run can hold may be behind a difference of the training that begins with its data."""
    return behind.difference.phase != "setup" and is_free(list(filter(points, behind.evidence)))


def _describe(seen: Difference, sources: Sequence[str], why: str) -> str:
    """A note on the operation that is passed."""
    return _NOTE.format(seen.name, seen.call_site or "an unknown line", ", ".join(sources), why)


def _is_needless(held: Proof, first: Difference) -> bool:
    """Whether two more runs, given all but what is held, agree up to `first`."""
    recorded, last, needed = held.recorded, held.plan.stop_after, stop_after(first)
    if recorded is None or (last is not None and (needed is None or last < needed)):
        return False  # the recorded run ends before that: that another one agrees with it says nothing
    return recorded.is_the_same_without(held.trials, _name_stage(held), held.held, needed)


def _look_at_training(held: Proof, first: Difference, pair: tuple[str, str]) -> tuple[Zoom, Proof] | None:
    """Where the training itself differs, if what `first` shows, before it, does not reach that place.

    A model that is called before the training and never again has its weights recorded as any other.
    """
    a, b = (held.trials.recorded[id_] for id_ in pair)
    beyond = compare_trainings(a, b).difference
    if beyond is None or beyond.process != first.process or beyond.place <= first.place:
        return None
    if beyond.phase == "setup":
        return None  # the weights that are trained differ: what was confirmed is a part of that
    control = held.plan.control
    base = Recorded(a, Plan(control=control))
    if not base.is_the_same_without(
        held.trials, _name_stage(held), held.held, stop_after(beyond), compare_trainings
    ):
        return None
    plan = Plan(tier="ops", window=choose_window(beyond), stop_after=stop_after(beyond), control=control)
    stage = f"looking closer at step {beyond.step}"
    recorded = Recorded(held.trials.record(stage, 1, plan)[0], plan)
    found = recorded.repeat(held.trials, stage, held.held, 1)
    if found.difference is None:
        return None
    behind = Explained(found.difference).holding(held.held)
    closer = Zoom(behind, found.scope.runs, True, plan.window, plan.stop_after)
    return closer, Proof(held.trials, plan, (), recorded, held.held)


def _name_stage(held: Proof) -> str:
    return f"is it without effect: {', '.join(held.held)}"
