"""Which digests of a run are not those of a lock, and where first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from samerun.experiments.lock.leaves import Leaves
from samerun.experiments.lock.observed import Observed
from samerun.experiments.lock.roots import ALL
from samerun.runs.lock.content import Environment, LockedStep

# In the order in which a step makes them.
ORDER = [
    "initial",
    "draws",
    "indices",
    "batch",
    "inputs",
    "outputs",
    "loss",
    "gradients",
    "parameters",
    "buffers",
    "optimizer",
    "evaluation",
    "saved",
    "end",
]


@dataclass(frozen=True)
class Moved:
    """A quantity or a result that is not the locked one."""

    quantity: str
    step: int | None = None  # the first step that is seen to differ; None: of a result, or not known
    after: int | None = None  # the last step before it that is seen to be equal
    exact: bool = False  # whether every step between was compared


def find_moved(
    locked: Environment, observed: Observed, leaves: Leaves | None = None, limit: int | None = None
) -> tuple[Moved, ...]:
    """What of the run is not as locked, the first first; () where all is equal that was compared.

    `leaves` are all those of the locked run, where they are at hand. With `limit` only steps below it are
    compared, and no root and no result.
    """
    steps = locked.steps if leaves is None else list_locked_steps(leaves, leaves.list_steps())
    if leaves is not None and limit is None:
        steps = _add_missing(steps, observed)
    steps = [step for step in steps if limit is None or step.at < limit]
    found = [
        _find_first(quantity, steps, observed, leaves is not None) for quantity in _list_all(steps, observed)
    ]
    moved = {item.quantity: item for item in found if item is not None}
    if limit is None:
        for quantity in sorted({*locked.root, *observed.roots} - {ALL}):
            if locked.root.get(quantity) != observed.roots.get(quantity):
                moved.setdefault(quantity, Moved(quantity))
        if locked.root.get(ALL) != observed.roots.get(ALL) and not moved:
            moved[ALL] = Moved(ALL)
        if _is_other_loss(locked.result.loss, observed.result.loss):
            moved.setdefault("loss", Moved("loss"))
    results = () if limit is not None else _compare_results(locked, observed)
    return (*sorted(moved.values(), key=_place), *results)


def list_locked_steps(leaves: Leaves, steps: Sequence[int]) -> list[LockedStep]:
    """These steps with every digest that they have."""
    by_step: dict[int, dict[str, str]] = {step: {} for step in steps}
    for (step, quantity), digest in leaves.digests.items():
        if step in by_step:
            by_step[step][quantity] = digest
    return [LockedStep(step, digests, leaves.losses.get(step)) for step, digests in by_step.items()]


def _add_missing(steps: Sequence[LockedStep], observed: Observed) -> list[LockedStep]:
    """With the steps that the run alone has, in which the lock holds nothing."""
    known = {step.at for step in steps}
    more = [LockedStep(at, {}) for at in observed.leaves.list_steps() if at not in known]
    return sorted((*steps, *more), key=lambda step: step.at)


def _list_all(steps: Sequence[LockedStep], observed: Observed) -> list[str]:
    return sorted(
        {quantity for step in steps for quantity in step.digests} | set(observed.leaves.list_quantities())
    )


def _find_first(quantity: str, steps: Sequence[LockedStep], observed: Observed, exact: bool) -> Moved | None:
    after = None
    for step in steps:
        here, there = step.digests.get(quantity), observed.leaves.digests.get((step.at, quantity))
        loss = step.loss if quantity == "loss" else None
        if here != there or _is_other_loss(loss, observed.leaves.losses.get(step.at)):
            return Moved(quantity, step.at, after, exact)
        if here is not None:
            after = step.at
    return None


def _compare_results(locked: Environment, observed: Observed) -> list[Moved]:
    found = []
    for kind in ("metrics", "files"):
        one, other = getattr(locked.result, kind), getattr(observed.result, kind)
        found += [Moved(f"{kind}.{name}") for name in sorted(one) if one[name] != other.get(name)]
    return found


def _is_other_loss(one: float | None, other: float | None) -> bool:
    """Bit for bit: a loss that is no number is equal to itself. What one does not hold is no difference."""
    return one is not None and other is not None and one.hex() != other.hex()


def _place(moved: Moved) -> tuple[float, int]:
    order = ORDER.index(moved.quantity) if moved.quantity in ORDER else len(ORDER)
    return (float("inf") if moved.step is None else moved.step), order
