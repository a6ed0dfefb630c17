"""A clock that goes on by what a program does, so that it reads the same in each run.

A read takes ten milliseconds, a process that is started two hundred, and a sleep as long as it asks for:
what a program could have seen of a real clock. No two processes begin at the same time, or all of them would
draw the same numbers from it.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from samerun import callsite, lineage
from samerun.sources.patching import attribute
from samerun.sources.source import Undo

_START_NS: Final = 1_767_225_600_000_000_000  # 2026-01-01T00:00:00Z
_READ_NS: Final = 10_007_919  # about a small training step; the microseconds are others each time
_PROCESS_NS: Final = 211_373_791  # no part of a second: the microseconds are others for each process
_BEFORE_IT_READS_NS: Final = 20_000_000  # of these: what it reads first lies between two reads of its parent
# What the place of a process says and its parent cannot: which of the programs of a shell, which rank
_LATER_NS: Final[Mapping[str | int, int]] = {"again": 10_000_000_000, "rank": _BEFORE_IT_READS_NS}
_VARIABLE: Final = "SAMERUN_CLOCK"  # the time at which a program was started, in nanoseconds


class MadeUpTime:
    """The time of this process, and of the processes that it starts."""

    def __init__(self) -> None:
        begun = os.environ.pop(_VARIABLE, "")
        place = lineage.get_path()
        self._now = (int(begun) if begun.isdecimal() else _START_NS) + sum(
            int(nth) * _LATER_NS[name]
            for name, nth in itertools.pairwise(place)
            if name in _LATER_NS and str(nth).isdecimal()
        )
        self._process = os.getpid()
        # by threads beside the main one: when they sleep is another time in each run
        self._slept = threading.local()

    def read(self) -> int:
        """The time, in nanoseconds since 1970, each time a later one."""
        self._now += _READ_NS
        return self._now + getattr(self._slept, "ns", 0)

    def start(self) -> Undo:
        """Go on with each sleep of the user's own code and each process that is started, until the undo."""
        sleeps = attribute.patch_for_others(time, "sleep", self._sleep)
        forks = [
            lineage.call_before_each_fork(self._start_process),
            lineage.call_in_each_child(self._begin_child),
        ]
        return attribute.undo_all([sleeps, *forks, lineage.give_each_program(self._give_program)])

    def _start_process(self) -> None:
        self._now += _PROCESS_NS

    def _begin_child(self) -> None:
        if self._process != os.getpid():  # a fork: it took the time from its parent's memory
            self._process = os.getpid()
            self._now -= _PROCESS_NS - _BEFORE_IT_READS_NS

    def _give_program(self, _: lineage.Path) -> Mapping[str, str]:
        begins = self._now + _BEFORE_IT_READS_NS
        self._start_process()
        return {_VARIABLE: str(begins)}

    def _sleep(self, original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = original(*args, **kwargs)
        if len(args) == 1 and callsite.is_called_directly():
            passed = int(args[0] * 1e9)
            if threading.current_thread() is threading.main_thread():
                self._now += passed
            else:
                self._slept.ns = getattr(self._slept, "ns", 0) + passed
        return result
