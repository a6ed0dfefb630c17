"""Two commands at once, one step of the one, then one of the other: what slows the machine slows both alike.

The one that waits is stopped whole (SIGSTOP), its loading workers and spinning threads too, so that each has
the machine to itself in its turn.
"""

from __future__ import annotations

import contextlib
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from samerun.errors import RunError
from samerun.experiments.cost.timed_run import MODULE, TimedRun
from samerun.launching.watcher import watcher
from samerun.recording.steps.step_timer import DONE, FREE, GO
from samerun.runs.store import Run

_POLL_S = 0.2
_SETTLE_S = 0.002  # between two turns, for a stopped process to be off the processors


def run_in_turns(commands: Sequence[TimedRun], order: random.Random) -> list[Run]:
    """Run all of them in turns, step by step, in an order drawn anew for each step; the runs on disk.

    A command that ends, or makes no step, takes no more turns. Raises RunError when one cannot be made.
    """
    with (
        tempfile.TemporaryDirectory(prefix="samerun-turns-") as folder,
        watcher.seeing_to("folder", folder),
        contextlib.ExitStack() as stack,
    ):
        sides = [
            stack.enter_context(_Side(command, Path(folder, str(number))))
            for number, command in enumerate(commands)
        ]
        for side in sides:
            side.wait()  # both are at the end of their first step, or have ended
            side.hold()
        while all(side.waits for side in sides):
            mixed = list(sides)
            order.shuffle(mixed)
            for side in mixed:
                time.sleep(_SETTLE_S)
                side.turn()
        for side in sides:
            side.free()
        return [side.run() for side in sides]


class _Side:
    """One of the commands: its process, and our end of its pipes."""

    def __init__(self, command: TimedRun, folder: Path) -> None:
        folder.mkdir()
        for name in (GO, DONE):
            os.mkfifo(folder / name)
        self._command = replace(command, plan=replace(command.plan, clock=str(folder)))
        self._folder = folder
        self._group: int | None = None  # of the training process, once it said its number
        self.waits = False

    def __enter__(self) -> _Side:
        # opened for both ways, so that opening waits for nobody
        self._done = os.open(self._folder / DONE, os.O_RDWR | os.O_NONBLOCK)
        self._go = os.open(self._folder / GO, os.O_RDWR)
        self._process = subprocess.Popen(
            [sys.executable, "-m", MODULE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._seen_to = watcher.seeing_to_process(self._process.pid)
        self._seen_to.__enter__()
        assert self._process.stdin is not None
        self._process.stdin.write(self._command.to_json() + "\n")
        self._process.stdin.flush()
        return self

    def __exit__(self, *error: object) -> None:
        self.free()
        if self._process.poll() is None:
            assert self._process.stdin is not None
            self._process.stdin.close()  # it ends its run, and then itself
        self._process.wait()
        self._seen_to.__exit__(None, None, None)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        os.close(self._done)
        os.close(self._go)

    def wait(self) -> None:
        """Wait for the end of a step, or of the command."""
        self.waits = False
        while self._process.poll() is None:
            ready, _, _ = select.select([self._done], [], [], _POLL_S)
            if ready:
                said = os.read(self._done, 64).split()
                if self._group is None:
                    self._group = os.getpgid(int(said[0]))
                self.waits = True
                return

    def hold(self) -> None:
        """Stop the whole command where it waits."""
        if self.waits:
            self._signal(signal.SIGSTOP)

    def turn(self) -> None:
        """Let it make one step."""
        if not self.waits:
            return
        self._signal(signal.SIGCONT)
        os.write(self._go, b"g")
        self.wait()
        self.hold()

    def free(self) -> None:
        """Let it go on to its end without us."""
        self._signal(signal.SIGCONT)
        if self.waits:
            self.waits = False
            os.write(self._go, FREE)

    def run(self) -> Run:
        """Wait for its end. Raises RunError when the run could not be made."""
        out = self._process.stdout
        assert out is not None
        said = out.read().strip()  # to the end of the process
        self._process.wait()
        if not said or said.startswith("error: "):
            raise RunError(said.removeprefix("error: ") or "a timed run ended without a word")
        return Run(Path(said.splitlines()[-1]))

    def _signal(self, number: int) -> None:
        if self._group is not None:
            try:
                os.killpg(self._group, number)
            except (ProcessLookupError, PermissionError):
                self._group = None
