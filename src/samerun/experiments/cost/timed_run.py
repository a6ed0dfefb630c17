"""One timed run in a process of its own, so that two can be made side by side.

Started as `python -m samerun.experiments.cost.timed_run`, with one line of JSON on standard input. When that
is closed before the run has ended, whoever asked for it is gone: the run is ended too.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from samerun.errors import SamerunError
from samerun.launching.launch import LaunchRequest
from samerun.launching.run import record
from samerun.launching.workspace import Workspace
from samerun.runs.plan import Plan
from samerun.runs.store import Store

MODULE = "samerun.experiments.cost.timed_run"


@dataclass(frozen=True)
class TimedRun:
    """What to run and where; nobody is told of progress."""

    request: LaunchRequest
    plan: Plan
    at: Workspace

    def to_json(self) -> str:
        """One line."""
        request, at = self.request, self.at
        value = {
            "command": request.command,
            "env": dict(request.env),
            "timeout": request.timeout,
            "plan": self.plan.to_json(),
            "folder": str(at.folder),
            "store": str(at.store.root.absolute()),
            "fresh": at.fresh,
        }
        return json.dumps(value)

    @classmethod
    def from_json(cls, text: str) -> TimedRun:
        """The value that `to_json` wrote."""
        value = json.loads(text)
        return cls(
            LaunchRequest(value["command"], value["env"], value["timeout"]),
            Plan.from_json(value["plan"]),
            Workspace(Path(value["folder"]), Store(Path(value["store"])), fresh=value["fresh"]),
        )


def main() -> None:
    """Make the run and print its folder; or what was wrong, after "error: "."""
    timed = TimedRun.from_json(sys.stdin.readline())
    threading.Thread(target=_end_with_the_caller, daemon=True).start()
    try:
        run = record(timed.request, timed.plan, timed.at)
        print(run.path, flush=True)
    except SamerunError as error:
        print(f"error: {error}", flush=True)


def _end_with_the_caller() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
