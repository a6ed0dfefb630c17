"""What `verify` found, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from samerun.experiments.check.result import CheckResult
from samerun.experiments.lock.moved import Moved
from samerun.experiments.lock.result import moved_to_json
from samerun.experiments.verify.bisected import Bisected
from samerun.experiments.verify.changed import Changed
from samerun.runs.lock.content import Lock
from samerun.runs.schema import SCHEMA

Answer = Literal["same", "within", "differs", "unknown", "stale"]


@dataclass(frozen=True)
class Distance:
    """How far a result is from the locked one, beside the bound: relative distances."""

    name: str
    distance: float
    bound: float


@dataclass(frozen=True)
class VerifyResult:
    """A run compared with a lock, or what is there now where nothing was run."""

    verdict: Answer
    path: str  # of the lock
    command: tuple[str, ...] = ()
    folder: str = ""
    run: str | None = None  # its id
    place: str = ""  # the folder that holds the runs
    environment: str | None = None  # the id of this machine's class
    locked_environment: str | None = None  # of the one that it was compared with
    steps: int = 0  # that were compared, or up to which
    first_step: int = 0  # the first that was: above 0 where the command went on from a checkpoint
    at: tuple[int, ...] | None = None  # the single steps that were, where roots do not stand for all
    quantities: tuple[str, ...] = ()
    reason: str | None = None  # why it is unknown or stale
    update: tuple[str, ...] = ()  # where the command is another: the words that lock it as the old one was
    moved: tuple[Moved, ...] = ()
    changed: tuple[Changed, ...] = ()
    distances: tuple[Distance, ...] = ()  # where the bits are not equal and there are bounds
    factors: tuple[str, ...] = ()  # that these bounds were measured with
    compared: CheckResult | None = None  # the two runs, where the locked one is at hand
    unsteady: CheckResult | None = None  # two runs of now, where these are not the same either
    bisected: Bisected | None = None  # the commit that moved the first bit, where it was looked for
    counted: Mapping[str, int] | None = None  # how much of what was compared where nothing was run
    notes: tuple[str, ...] = ()
    output: tuple[str, ...] = ()  # the last lines that a failed command printed
    exact: bool = False  # within the bounds is not enough
    lock: Lock | None = None  # the lock with this class of machine added to it

    def to_json(self) -> dict[str, Any]:
        """The values of `--json`."""
        return {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "lock": self.path,
            "run": self.run,
            "command": list(self.command),
            "environment": self.environment,
            "locked_environment": self.locked_environment,
            "steps": self.steps,
            "first_step": self.first_step,
            "at": None if self.at is None else list(self.at),
            "quantities": list(self.quantities),
            "reason": self.reason,
            "moved": [moved_to_json(item) for item in self.moved],
            "changed": [
                {
                    "kind": item.kind,
                    "name": item.name,
                    "text": item.text,
                    "call_site": item.call_site,
                    "confirmed": item.confirmed,
                    "ruled_out": item.ruled_out,
                }
                for item in self.changed
            ],
            "distances": [
                {"name": item.name, "distance": item.distance, "bound": item.bound} for item in self.distances
            ],
            "factors": list(self.factors),
            "compared": None if self.compared is None else self.compared.to_json(),
            "unsteady": None if self.unsteady is None else self.unsteady.to_json(),
            "bisect": None if self.bisected is None else self.bisected.to_json(),
            "counted": None if self.counted is None else dict(self.counted),
            "notes": list(self.notes),
            "output": list(self.output),
            "added": self.lock is not None,
        }
