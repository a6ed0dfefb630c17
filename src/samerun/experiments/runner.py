"""The one place where the verbs record a run and tell whoever watches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from samerun.experiments.progress import Listener
from samerun.launching.launch import LaunchRequest
from samerun.launching.progress_files import Progress
from samerun.launching.run import record
from samerun.launching.workspace import Workspace
from samerun.runs.plan import Plan
from samerun.runs.store import Run

# launching.run.record, or what a test puts in its place.
Record = Callable[[LaunchRequest, Plan, Workspace], Run]


class Runner:
    """Records one run after the other and tells the listener, which may be nobody."""

    def __init__(self, listener: Listener | None = None, record: Record = record) -> None:
        self.listener = listener or Listener()
        self.recorded: dict[str, Run] = {}  # every run so far, by id
        self._record = record
        self._stage: str | None = None

    def run(
        self,
        request: LaunchRequest,
        plan: Plan,
        *,
        at: Workspace,
        stage: str,
        number: int = 1,
        of: int = 1,
        steps: int | None = None,
    ) -> Run:
        """Record one run, the `number`-th of a stage's; `steps` are expected where the plan does not stop it.

        Raises KeyboardInterrupt once a run that was interrupted is whole on disk, and what `record` raises.
        """
        if stage != self._stage:
            self._stage = stage
            self.listener.stage(stage)
        self.listener.run_started(number, of, steps if plan.stop_after is None else plan.stop_after + 1)
        run = self._record(replace(request, on_progress=self._tell), plan, at).ignoring(at.store.ignored)
        self.recorded[run.id] = run
        self.listener.run_ended(run.id, run.steps, run.outcome, run.duration_s)
        if run.outcome == "interrupted":
            raise KeyboardInterrupt
        return run

    def _tell(self, seen: Progress) -> None:
        if seen.step is not None:
            self.listener.progress(seen.step, seen.loss, seen.elapsed_s)
