"""Ctrl-C and the other polite requests to end, counted while a command runs instead of ending us at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

_REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Counts SIGINT, SIGTERM and SIGHUP inside the `with`; puts the handlers back at its end.

    What the caller had set to be ignored (nohup) stays ignored. Outside the main thread, where Python
    allows no handlers, nothing is counted.
    """

    def __init__(self) -> None:
        self.count = 0
        self.last: signal.Signals | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in _REQUESTS:
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

    def _count(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        self.last = signal.Signals(number)
