"""Signals that we get while a command runs: requests to end, counted, and what is passed on to it."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

_REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Not Ctrl-C: who types it wants the end, and does not wait for a command that takes its time.
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP)


class Interrupts:
    """Counts SIGINT, SIGTERM and SIGHUP inside the `with`; puts the handlers back at its end.

    With `passes_on`, signals but SIGINT are the command's: they are kept for who takes them. SIGUSR1, SIGUSR2
    and SIGTSTP are then taken too. What the caller had set to be ignored (nohup) stays ignored. Outside the
    main thread, where Python allows no handlers, nothing is counted.
    """

    def __init__(self, *, passes_on: bool = False) -> None:
        self.count = 0  # requests to end that are ours
        self.last: signal.Signals | None = None  # of those
        self._theirs = _PASSED_ON if passes_on else ()
        self._waiting: list[signal.Signals] = []
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in dict.fromkeys((*_REQUESTS, *self._theirs)):
                before = signal.getsignal(number)
                if before is not None and before is not signal.SIG_IGN:
                    self._before[number] = before
                    signal.signal(number, self._count)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before.clear()

    def take(self) -> list[signal.Signals]:
        """What has come for the command since the last call, in its order."""
        taken, self._waiting = self._waiting, []
        return taken

    def count_all(self) -> int:
        """Requests to end, with those for the command that nobody has taken."""
        return self.count + sum(number in _REQUESTS for number in self._waiting)

    def _count(self, number: int, frame: FrameType | None) -> None:
        if number in self._theirs:
            self._waiting.append(signal.Signals(number))
        else:
            self.count += 1
            self.last = signal.Signals(number)
