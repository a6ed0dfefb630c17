"""What differs before the training and does not reach it: a preview, a model that is then made again."""

from __future__ import annotations

from dataclasses import replace

from samerun.comparing.compare_runs import compare_all, compare_trainings
from samerun.experiments.check.confirm import Proof, confirm_alone, explain_and_confirm, is_in_setup
from samerun.experiments.check.zoom import Zoom, choose_window, stop_after
from samerun.experiments.replayed import Recorded
from samerun.experiments.trials import Trials
from samerun.explaining.cause import Findings, make_cause
from samerun.explaining.confirm import is_not_after
from samerun.explaining.explained import Explained
from samerun.runs.difference import Difference
from samerun.runs.plan import Plan

_UNREACHED = "{} at {} gives other values in each run, which is not why they differ at step {}"
_NOTE = "{} at {} gives other values in each run ({}), without effect: runs that repeat the rest agree"


def look_past(
    closer: Zoom, findings: Findings, proof: Proof, first: Difference, pair: tuple[str, str]
) -> tuple[Zoom, Proof] | None:
    """The difference behind an operation of the setup that was confirmed and reaches nothing; None: it does.

    `first` is what differs without a look at operations, between the runs `pair`. The proof is one in which
    all that was confirmed is held.
    """
    if findings.past_setup or not is_in_setup(closer.difference):
        return None
    sources = list_confirmed(findings)
    if not sources or proof.recorded is None:
        return None
    held = replace(proof, held=(*proof.held, *sources))
    then = findings.then
    if then is not None and is_not_after(then, first) and _is_needless(held, first):
        return replace(closer, explained=Explained(then)), held
    return _look_at_training(held, first, pair)


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


def describe_needless(closer: Zoom, findings: Findings) -> str:
    """A note on the operation that is left out."""
    seen = closer.difference
    return _NOTE.format(seen.name, seen.call_site or "an unknown line", ", ".join(list_confirmed(findings)))


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
    closer = Zoom(Explained(found.difference), found.scope.runs, True, plan.window, plan.stop_after)
    return closer, Proof(held.trials, plan, (), recorded, held.held)


def _name_stage(held: Proof) -> str:
    return f"is it without effect: {', '.join(held.held)}"
