"""What a check is asked to do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from samerun.launching.launch import LaunchRequest
from samerun.launching.workspace import Workspace
from samerun.runs.plan import Control, Plan
from samerun.runs.store import Store


@dataclass(frozen=True)
class Request:
    """A command, and how its runs are made and compared."""

    command: tuple[str, ...]
    folder: Path  # the working directory of every run
    store: Store
    runs: int = 2
    up_to: int | None = None  # so many runs where they agree and something in play may go another way
    steps: int | None = None  # stop each run after so many optimizer steps
    control: Control | None = None  # None: the sources are left alone
    confirm: bool = True
    timeout: float | None = None  # seconds, for each run
    scratch: bool = False  # each run gets its own copy of `folder`

    @property
    def launch(self) -> LaunchRequest:
        """The command as it is started."""
        return LaunchRequest(self.command, timeout=self.timeout)

    @property
    def plan(self) -> Plan:
        """That of a whole run at tier steps, controlled as asked."""
        return self.limit(Plan(control=self.control))

    @property
    def last_step(self) -> int | None:
        """The step after which a whole run is stopped, None where it ends by itself."""
        return None if self.steps is None else self.steps - 1

    def limit(self, plan: Plan) -> Plan:
        """The plan, which `steps` stops where it does not stop the runs itself."""
        return plan if plan.stop_after is not None else replace(plan, stop_after=self.last_step)

    @property
    def workspace(self) -> Workspace:
        """Where the runs take place, unless an experiment needs them elsewhere."""
        return Workspace(self.folder, self.store, fresh=self.scratch)
