"""What a verify is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from samerun.experiments.request import Request
from samerun.runs.lock.content import Lock


@dataclass(frozen=True)
class VerifyRequest:
    """What to run, and the lock to compare it with."""

    request: Request  # its steps: those of the lock, or the first so many of them
    lock: Lock
    path: Path  # of the lock
    command: tuple[str, ...] | None = None  # that was asked for, as a lock has it; None: that of the lock
    leaves: Path | None = None
    exact: bool = False
    add: bool = False  # this class of machine to the lock
    checkpoint: Path | None = None  # the command goes on from it: what is compared is the steps after it
    any_inputs: bool = False  # run though a file that it reads is not the locked one

    @property
    def limit(self) -> int | None:
        """How many steps are compared, None where it is every one that the lock has."""
        steps = self.request.steps
        return None if steps == self.lock.limit else steps
