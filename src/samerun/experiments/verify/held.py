"""What a lock holds of the class of machine that a run is compared with, and where the locked run is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from samerun.errors import RunError
from samerun.experiments.lock.leaves import Leaves
from samerun.experiments.lock.moved import Moved, find_moved, list_locked_steps
from samerun.experiments.lock.observed import Observed, observe
from samerun.experiments.lock.roots import compute_roots
from samerun.experiments.verify.changed import list_changed
from samerun.experiments.verify.request import VerifyRequest
from samerun.experiments.what_counts import find_result_difference
from samerun.runs.lock.content import OTHER_FRACTIONS, Environment, Lock, LockedStep
from samerun.runs.store import Run


@dataclass(frozen=True)
class Held:
    """One class of machine of a lock; the locked run and its leaves, where they are at hand."""

    id: str
    environment: Environment
    run: Run | None = None
    leaves: Leaves | None = None

    @property
    def steps(self) -> tuple[LockedStep, ...]:
        """Those whose digests are known."""
        leaves = self.leaves
        found = None if leaves is None else list_locked_steps(leaves, leaves.list_steps())
        return self.environment.steps if found is None else tuple(found)

    def find_moved(self, observed: Observed, limit: int | None) -> tuple[Moved, ...]:
        """What of a run is not as locked; with `limit` of the steps below it alone.

        A whole run is compared with the locked one itself, where that is at hand: a lock holds the results
        that are called so, of files and lines some more are, and it can name each.
        """
        moved = find_moved(self.environment, observed, self.leaves, limit)
        unnamed = all(item.quantity.endswith(OTHER_FRACTIONS) for item in moved)
        if not unnamed or limit is not None or self.run is None:
            return moved
        found = find_result_difference(self.run, observed.run, recorded_apart=True)
        return moved if found is None else (Moved(f"{found[0].what}.{found[0].name}"),)


def find_held(asked: VerifyRequest, observed: Observed, given: Leaves | None = None) -> Held:
    """What the lock holds for this run; `given` are leaves of --leaves.

    Raises RunError for leaves that are not those of the lock.
    """
    lock = asked.lock
    id_, locked = _find_nearest(lock, observed, asked.limit)
    run = _find_run(asked, locked)
    leaves = _choose_leaves(given, lock, locked, asked.leaves)
    if leaves is None and run is not None:
        leaves = observe(run, lock.limit, lock.left_out).leaves
    return Held(id_, locked, run, leaves)


def _find_nearest(lock: Lock, observed: Observed, limit: int | None) -> tuple[str, Environment]:
    """The locked class of machine with which a run is compared.

    Its own; else one that gives the same bits; else one with bounds; else the one that is most like it.
    """
    own = lock.environments.get(observed.environment.id)
    if own is not None:
        return observed.environment.id, own

    def unlike(item: tuple[str, Environment]) -> tuple[bool, bool, int]:
        _, locked = item
        others = [
            change for change in list_changed(lock, locked, observed) if change.kind not in ("code", "input")
        ]
        return bool(find_moved(locked, observed, None, limit)), locked.bounds is None, len(others)

    return min(sorted(lock.environments.items()), key=unlike)


def _find_run(asked: VerifyRequest, locked: Environment) -> Run | None:
    """The run that was locked, where this folder still has it, whole."""
    run = next((run for run in asked.request.store.list() if run.id == locked.run), None)
    if run is None:
        return None
    try:
        roots = observe(run, asked.lock.limit, asked.lock.left_out).roots
    except RunError:
        return None
    return run if roots == locked.root else None


def _choose_leaves(
    leaves: Leaves | None, lock: Lock, locked: Environment, path: Path | None
) -> Leaves | None:
    """The leaves, where they are of this class. Raises RunError where no root of the lock is theirs."""
    if leaves is None:
        return None
    roots = compute_roots(leaves)
    if not any(item.root == roots for item in lock.environments.values()):
        raise RunError(f"The leaves {path} are not those of the lock: their root is another one. Lock again.")
    return leaves if locked.root == roots else None
