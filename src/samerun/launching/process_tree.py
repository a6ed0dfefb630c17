"""Every process that one command started, however it detached itself, and their end."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import psutil

from samerun.launching import left_sockets
from samerun.runs.plan import VARIABLE

_PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 36, 37
_CLEANERS = ("multiprocessing.resource_tracker", "torch_shm_manager", "launching/afterwards.py")
_POLL_S = 0.05
_LOOK_EVERY_S = 1.0  # while the command runs; reading /proc costs a few milliseconds
_AFTER_TERM_S = 1.0
_AFTER_KILL_S = 10.0


@contextlib.contextmanager
def adopt_orphans() -> Iterator[None]:
    """Inside the `with`, processes orphaned below us become our children, so that they can be found.

    Linux only; elsewhere nothing happens.
    """
    if not sys.platform.startswith("linux"):
        yield
        return
    libc = ctypes.CDLL(None)
    before = ctypes.c_int(0)
    libc.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, before.value, 0, 0, 0)


class Tree:
    """The processes of the command started as `root`, in a session of its own, with the plan `mark`.

    An orphan that became our child counts when it was seen below the root before, is of a session seen
    there, or carries the plan in its environment; nothing else is ever touched.
    """

    def __init__(
        self,
        root: subprocess.Popen[bytes],
        mark: str,
        found: Callable[[psutil.Process], None] = lambda process: None,
    ) -> None:
        """`found` is called with each process of the command when it is first seen."""
        self._root = root
        self._mark = mark
        self._us = psutil.Process()
        self._began = time.time()
        self._known: set[psutil.Process] = set()
        self._found = found
        self._sessions = {root.pid}
        self._looked = time.monotonic()

    def follow(self) -> None:
        """Look from time to time, so that what detaches itself is known."""
        if time.monotonic() - self._looked >= _LOOK_EVERY_S:
            self.alive()

    def alive(self) -> list[psutil.Process]:
        """Those that live now, parents before children. Adopted ones that have ended are reaped."""
        self._root.poll()
        ours: set[int] = set()
        living: list[psutil.Process] = []
        for process in self._us.children(recursive=True):
            try:
                parent = process.ppid()
                if parent not in ours and not self._belongs(process):
                    continue
                ours.add(process.pid)
                if process.status() == psutil.STATUS_ZOMBIE:
                    self._reap(process, parent)
                    continue
                self._sessions.add(os.getsid(process.pid))
                living.append(process)
            except (psutil.Error, ProcessLookupError):
                continue
        found = set(living)
        living += [
            process for process in self._known - found if _lives(process)
        ]  # orphans, where none are adopted
        for process in found - self._known:
            self._found(process)
        self._known = set(living)
        self._looked = time.monotonic()
        return living

    def end(self, first: signal.Signals, grace_s: float, hurry: Callable[[], bool]) -> bool:
        """Send `first`, wait `grace_s`, then SIGTERM after a SIGINT, then SIGKILL until nothing is left.

        SIGINT goes to the root's process group alone, as from a terminal. SIGKILL spares at first those that
        free shared memory once the others are gone. `hurry` cuts the waits short.
        Gives whether the root ended by itself, upon `first` at most.
        """
        living = self.alive()
        with left_sockets.remove_afterwards(living, self._began):
            return self._end(living, first, grace_s, hurry)

    def _end(
        self, living: list[psutil.Process], first: signal.Signals, grace_s: float, hurry: Callable[[], bool]
    ) -> bool:
        if first is signal.SIGINT and self._root.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._root.pid, first)
        elif first is signal.SIGKILL:
            _send(first, [process for process in living if not cleans_up(process)])
        else:
            _send(first, living)
        if self._gone_within(grace_s, hurry):
            return True
        by_itself = self._root.poll() is not None
        if first is signal.SIGINT:
            _send(signal.SIGTERM, self.alive())
            if self._gone_within(_AFTER_TERM_S, hurry):
                return by_itself
        until = time.monotonic() + _AFTER_KILL_S
        while (living := self.alive()) and time.monotonic() < until:
            _send(signal.SIGKILL, living)
            time.sleep(_POLL_S / 5)
        return by_itself

    def _gone_within(self, seconds: float, hurry: Callable[[], bool]) -> bool:
        until = time.monotonic() + seconds
        while self.alive():
            if time.monotonic() >= until or hurry():
                return False
            time.sleep(_POLL_S)
        return True

    def _belongs(self, process: psutil.Process) -> bool:
        if process.pid == self._root.pid or process in self._known:
            return True
        if os.getsid(process.pid) in self._sessions:
            return True
        try:
            return bool(process.environ().get(VARIABLE) == self._mark)
        except (psutil.Error, OSError):
            return False

    def _reap(self, process: psutil.Process, parent: int) -> None:
        if process.pid != self._root.pid and parent == self._us.pid:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)


def cleans_up(process: psutil.Process) -> bool:
    """Whether it frees what others held, once they are gone, and ends by itself."""
    try:
        return any(cleaner in word for word in process.cmdline() for cleaner in _CLEANERS)
    except psutil.Error:
        return False


def _lives(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _send(number: signal.Signals, processes: list[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)  # psutil checks that the id was not given to another process
