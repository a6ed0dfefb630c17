"""How long each optimizer step took, and nothing else: next to no cost of its own."""

from __future__ import annotations

import atexit
import json
import os
import time
from pathlib import Path
from typing import Any

from samerun import real_clock
from samerun.ranks.identity import rank
from samerun.recording import process_identity
from samerun.runs import untrusted
from samerun.runs.plan import Plan

_sleep = time.sleep  # the real ones, whatever a source puts in their place
_now = real_clock.read_s
SUFFIX = ".times.json"
_MOST_BYTES = 1 << 30  # 20 a step
GO, DONE = "go", "done"  # the named pipes of a folder in which turns are taken
FREE = b"f"  # on GO: wait no more


def start(plan: Plan) -> None:
    """Note when each optimizer step of rank 0 begins and ends, and write it all as the process ends.

    A step begins where the one before it ends, or when its turn comes. With the plan's `stop_after` the
    process waits to be ended after that step. What runs on a device belongs to the step that began it.
    """
    if process_identity.is_child() or rank():
        return
    import torch
    from torch.optim.optimizer import register_optimizer_step_post_hook

    clock = _Clock(plan, torch.cuda)
    register_optimizer_step_post_hook(lambda *_: clock.ended())
    atexit.register(clock.write)


class _Clock:
    """The clock of one process."""

    def __init__(self, plan: Plan, cuda: Any) -> None:
        self._plan = plan
        self._cuda = cuda
        self._pid = os.getpid()
        self._turns = _Turns(plan.clock) if plan.clock else None
        self._begun = _now()
        self._seconds: list[float] = []

    def ended(self) -> None:
        """An optimizer step is complete."""
        if os.getpid() != self._pid:
            return
        if self._cuda.is_initialized():
            self._cuda.synchronize()
        self._seconds.append(_now() - self._begun)
        last = self._plan.stop_after
        if last is not None and len(self._seconds) > last:
            self.write()
            if self._plan.tier == "none":  # else the recorder ends the process, once it has written this step
                Path(self._plan.run, "rank0.stopped").touch()
                while True:
                    _sleep(3600)
        if self._turns is not None:
            self._turns.wait()
        self._begun = _now()

    def write(self) -> None:
        """Write all steps; the first one, which includes what came before it, is left out by readers."""
        if os.getpid() == self._pid and self._seconds:
            text = json.dumps({"seconds": self._seconds})
            path = Path(self._plan.run, f"rank0{SUFFIX}")
            path.touch(0o600)
            path.write_text(text, encoding="ascii")


class _Turns:
    """The end of two pipes at which a process takes turns with another one."""

    def __init__(self, folder: str) -> None:
        self._done = os.open(f"{folder}/{DONE}", os.O_WRONLY)
        self._go = os.open(f"{folder}/{GO}", os.O_RDONLY)
        self._free = False

    def wait(self) -> None:
        """Say that a step is done, and wait for the next turn; forever on once nobody gives turns."""
        if self._free:
            return
        try:
            os.write(self._done, b"%d\n" % os.getpid())
            self._free = os.read(self._go, 1) in (FREE, b"")
        except OSError:
            self._free = True


def step_seconds(run: Path) -> list[float]:
    """The seconds of each optimizer step but the first; [] when they were not written.

    What happens between two steps (loading, evaluation) is part of the second.
    """
    try:
        value = untrusted.parse_json(untrusted.read_text(run / f"rank0{SUFFIX}", _MOST_BYTES))
        return [float(second) for second in value["seconds"]][1:]
    except (OSError, ValueError, KeyError, TypeError):
        return []
