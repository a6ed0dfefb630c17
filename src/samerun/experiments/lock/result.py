"""What `lock` found, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from samerun.experiments.check.result import CheckResult, Verdict
from samerun.experiments.lock.leaves import Leaves
from samerun.experiments.lock.moved import Moved
from samerun.experiments.lock.negative_control import Flip
from samerun.runs.lock.content import Bounds, Lock


@dataclass(frozen=True)
class LockResult:
    """The two runs compared, and the lock that was made of them: None where they are not the same."""

    check: CheckResult
    path: str
    lock: Lock | None = None
    environment: str | None = None  # the id of this machine's class
    flip: Flip | None = None  # the bit that was inverted to see that it would be noticed
    moved: tuple[Moved, ...] | None = None  # with --update: what is not as it was locked before
    unmoved: tuple[str, ...] = ()  # and the quantities that are
    leaves: Leaves | None = None  # of every step
    notes: tuple[str, ...] = ()  # what could not be measured
    reason: str | None = None  # why nothing can be locked though the runs agree

    @property
    def verdict(self) -> Verdict:
        """That of the runs; unknown where they agree and cannot be locked."""
        return "unknown" if self.check.verdict == "same" and self.lock is None else self.check.verdict

    def to_json(self) -> dict[str, Any]:
        """The values of `--json`: those of `check`, and of the lock."""
        lock = self.lock
        return {
            **self.check.to_json(),
            "verdict": self.verdict,
            "reason": self.reason or self.check.reason,
            "lock": None if lock is None else self.path,
            "environment": self.environment,
            "left_out": [] if lock is None else list(lock.left_out),
            "negative_control": None
            if self.flip is None
            else {"step": self.flip.step, "quantity": self.flip.quantity, "bit": self.flip.bit},
            "bounds": self._bounds(),
            "moved": None if self.moved is None else [moved_to_json(item) for item in self.moved],
            "unmoved": list(self.unmoved),
            "notes": [*self.check.notes, *self.notes],
        }

    @property
    def bounds(self) -> Bounds | None:
        """Those of this class of machine, where they were measured."""
        if self.lock is None or self.environment is None:
            return None
        return self.lock.environments[self.environment].bounds

    def _bounds(self) -> dict[str, Any] | None:
        found = self.bounds
        if found is None:
            return None
        return {"loss": found.loss, "metrics": dict(found.metrics), "factors": list(found.factors)}


def moved_to_json(moved: Moved) -> dict[str, Any]:
    """Plain values."""
    return {"quantity": moved.quantity, "step": moved.step, "after": moved.after, "exact": moved.exact}
