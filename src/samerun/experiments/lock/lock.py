"""`lock`: record the command twice under control, and keep what both runs gave."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from samerun.experiments.check.check import check
from samerun.experiments.lock.bounds import Measured, measure_bounds
from samerun.experiments.lock.build import build_lock, fit
from samerun.experiments.lock.draw_counts import DRAWS, describe_counts
from samerun.experiments.lock.moved import find_moved
from samerun.experiments.lock.negative_control import try_flip
from samerun.experiments.lock.observed import Observed, observe
from samerun.experiments.lock.portable_command import make_portable
from samerun.experiments.lock.result import LockResult
from samerun.experiments.lock.roots import ALL
from samerun.experiments.request import Request
from samerun.experiments.runner import Runner
from samerun.runs.lock.content import Lock
from samerun.runs.plan import Control

_NEEDED = ("parameters",)  # what must not differ even without effect


@dataclass(frozen=True)
class LockRequest:
    """What to lock, where, and the lock that is there already."""

    request: Request
    path: Path  # of the lock
    before: Lock | None = None
    leaves: Path | None = None  # where to write the digests of every step
    bounds: bool = False  # measure how far results move where the bits cannot be equal


def lock(asked: LockRequest, runner: Runner | None = None) -> LockResult:
    """Lock what two runs of the command give; nothing, where they do not give the same bits.

    Nothing is written but the runs. Raises UsageError for a command that no other machine can run, and what
    `check` raises.
    """
    request, runner = asked.request, runner or Runner()
    command, beside = make_portable(request.command, request.folder)
    checked = check(request, runner, closely=False)
    result = LockResult(checked, str(asked.path))
    if checked.verdict != "same":
        return result
    one, other = (observe(runner.recorded[id_], request.steps) for id_ in checked.runs[:2])
    if not one.steps:
        return replace(result, reason="no optimizer step was recorded, so there is nothing to lock")
    left_out = find_unequal(one, other)
    if unsteady := [name for name in _NEEDED if name in left_out]:
        reason = f"the runs agree, and the digests of their {', '.join(unsteady)} do not"
        return replace(result, reason=reason)
    one = observe(one.run, request.steps, left_out)
    control = request.control or Control("off")
    made = build_lock(command, beside, control, request.steps, _keep_common(one, other), left_out)
    id_ = one.environment.id
    result = replace(result, lock=made, environment=id_, leaves=one.leaves)
    result = replace(result, flip=try_flip(made.environments[id_], one))
    if asked.bounds:
        result = _add_bounds(result, id_, measure_bounds(request, runner, one, made.environments[id_]))
    return result if asked.before is None else _compare_with_before(result, asked.before, one)


def _add_bounds(result: LockResult, id_: str, measured: Measured) -> LockResult:
    made = result.lock
    assert made is not None
    environment = replace(made.environments[id_], bounds=measured.bounds)
    counts = made.counts if DRAWS in measured.portable else {}
    made = replace(made, environments={id_: environment}, portable=measured.portable, counts=counts)
    return replace(result, lock=fit(made), notes=measured.notes)


def find_unequal(one: Observed, other: Observed) -> tuple[str, ...]:
    """The quantities that are not equal in two runs which are the same in all that counts."""
    roots = {*one.roots, *other.roots} - {ALL}
    return tuple(sorted(name for name in roots if one.roots.get(name) != other.roots.get(name)))


def _keep_common(one: Observed, other: Observed) -> Observed:
    """The first run, with those inputs and results alone that the other one has as well."""
    result = replace(
        one.result,
        metrics={
            name: value
            for name, value in one.result.metrics.items()
            if other.result.metrics.get(name) == value
        },
        files={
            name: value for name, value in one.result.files.items() if other.result.files.get(name) == value
        },
    )
    inputs = {name: value for name, value in one.inputs.items() if other.inputs.get(name) == value}
    revisions = {name: value for name, value in one.revisions.items() if other.revisions.get(name) == value}
    return replace(one, result=result, inputs=inputs, revisions=revisions)


def _compare_with_before(result: LockResult, before: Lock, observed: Observed) -> LockResult:
    """With what moved since the lock that is there, on this class of machine."""
    locked = None if result.environment is None else before.environments.get(result.environment)
    if locked is None:
        return result
    moved = find_moved(locked, observed)
    gone = {item.quantity for item in moved}
    if not moved and result.lock is not None:  # nor is there a reason why another machine's should have
        others = {**before.environments, **result.lock.environments}
        result = replace(result, lock=fit(replace(result.lock, environments=others)))
    counts = {} if result.lock is None else result.lock.counts
    notes = (*result.notes, *describe_counts(before.counts, counts))
    result = replace(result, notes=notes)
    return replace(
        result, moved=moved, unmoved=tuple(name for name in locked.root if name not in {*gone, ALL})
    )
