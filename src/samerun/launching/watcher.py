"""A small process beside samerun that outlives it: when samerun is killed, what it had started ends too.

It holds the other end of a pipe, so it learns of our end whatever the reason: `kill -9`, a crash, no memory.
It is started when there is first something to see to, and is gone when we are.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from samerun.runs.plan import VARIABLE

_SCRIPT = str(Path(__file__).with_name("afterwards.py"))


class Watcher:
    """Our end of the pipe. What cannot be told (no more processes, a full pipe) is not seen to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._fd: int | None = None
        self._count = 0
        os.register_at_fork(after_in_child=self._forked)

    @contextlib.contextmanager
    def seeing_to(self, kind: str, value: object) -> Iterator[Matter]:
        """Inside the `with`, our end is also that of a "folder", "run", "process" or all with a "mark"."""
        matter = Matter(self, self._next())
        matter.also(kind, value)
        try:
            yield matter
        finally:
            self._say(f"end {matter.name}")

    @contextlib.contextmanager
    def seeing_to_process(self, pid: int) -> Iterator[None]:
        """Inside the `with`, our end is also that of a child of ours and of all below it."""
        try:
            process = pid, psutil.Process(pid).create_time()
        except psutil.Error:  # it has ended
            yield
            return
        with self.seeing_to("process", process):
            yield

    def tell(self, kind: str, name: str, value: object) -> None:
        """One word of it."""
        self._say(f"{kind} {name} {json.dumps(value)}")

    def _next(self) -> str:
        with self._lock:
            self._count += 1
            return str(self._count)

    def _say(self, line: str) -> None:
        with self._lock:
            try:
                if self._fd is None:
                    self._start()
                if self._fd is not None:
                    os.write(self._fd, line.encode() + b"\n")
            except OSError:
                pass

    def _start(self) -> None:
        there, ours = os.pipe()
        os.set_blocking(ours, False)
        hidden = {VARIABLE, "PYTHONPATH", "PYTHONSTARTUP"}
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-S", "-s", _SCRIPT],
                env={name: value for name, value in os.environ.items() if name not in hidden},
                cwd="/",
                stdin=there,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:
            os.close(ours)
            raise
        finally:
            os.close(there)
        self._process.returncode = 0  # nobody waits for it: it ends after us
        self._fd = ours
        os.write(ours, f"path 0 {json.dumps([str(Path(entry).absolute()) for entry in sys.path])}\n".encode())

    def _forked(self) -> None:
        """A copy of us must not hold the pipe open."""
        if self._fd is not None:
            os.close(self._fd)
        self._fd, self._process, self._lock = None, None, threading.Lock()


class Matter:
    """What belongs together: it is over at once."""

    def __init__(self, watcher: Watcher, name: str) -> None:
        self._watcher = watcher
        self.name = name

    def also(self, kind: str, value: Any) -> None:
        """One more thing that belongs to it."""
        self._watcher.tell(kind, self.name, value)


watcher = Watcher()
