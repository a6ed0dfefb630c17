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
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from samerun.errors import SamerunError
from samerun.launching.run import record
from samerun.runs.plan import Control, Tier
from samerun.runs.store import Store

MODULE = "samerun.experiments.cost.timed_run"


@dataclass(frozen=True)
class TimedRun:
    """What to run: plain values."""

    command: tuple[str, ...]
    folder: str
    store: str
    clock: str  # a folder in which steps wait for their turn; "": they do not
    control: Mapping[str, object] | None = None  # the fields of a Control
    tier: Tier = "none"
    steps: int | None = None
    timeout: float | None = None
    scratch: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))


def main() -> None:
    """Make the run and print its folder; or what was wrong, after "error: "."""
    value = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_the_caller, daemon=True).start()
    control = value["control"]
    try:
        run = record(
            value["command"],
            store=Store(Path(value["store"])),
            cwd=Path(value["folder"]),
            tier=value["tier"],
            stop_after=None if value["steps"] is None else value["steps"] - 1,
            control=None if control is None else _read_control(control),
            timeout=value["timeout"],
            scratch=value["scratch"],
            env=value["environment"],
            clock=value["clock"],
        )
        print(run.path, flush=True)
    except SamerunError as error:
        print(f"error: {error}", flush=True)


def _read_control(value: dict[str, object]) -> Control:
    only, extra = value.pop("only"), value.pop("extra")
    assert isinstance(extra, list)
    return Control(
        **value,  # type: ignore[arg-type]
        only=None if only is None else tuple(only),  # type: ignore[arg-type]
        extra=tuple(extra),
    )


def _end_with_the_caller() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
