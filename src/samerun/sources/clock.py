"""Clocks: https://docs.python.org/3/library/time.html."""

from __future__ import annotations

import copyreg
import datetime
import re
import time
from collections.abc import Callable
from typing import Any, cast

from samerun.runs.plan import Control
from samerun.sources import _patch, _user_code
from samerun.sources._world import World
from samerun.sources.source import Journal, Undo

_START_NS = 1_767_225_600_000_000_000  # 2026-01-01T00:00:00Z
_STEP_NS = 1_000_000  # one millisecond a call
_SECONDS = ("time", "monotonic", "perf_counter")
_NANOSECONDS = ("time_ns", "monotonic_ns", "perf_counter_ns")
_CALENDAR = ("localtime", "gmtime", "ctime")  # of now, when called without an argument


class Clock(World):
    """The time of day and the time that passes, read by the user's code.

    On request the user's own files read a clock that starts on 2026-01-01 and gains a millisecond a call;
    libraries keep the real one.
    """

    id = "clock"
    summary = "the script reads a clock: for a seed, a name, or a loop with a time limit"
    advice = "seed from a constant, and end loops after a number of steps: for step in range(1000): ..."
    evidence = "clock"
    words = re.compile(r"\btime\.|\bdatetime\b|\bnow\(|\btime\(\)|perf_counter|monotonic")

    def control(self, control: Control) -> Undo | None:
        """Give the user's own calls the made-up clock."""
        calls = 0

        def now() -> int:
            nonlocal calls
            calls += 1
            return _START_NS + calls * _STEP_NS

        undos = [_replaced(name, lambda: now() / 1e9) for name in _SECONDS]
        undos += [_replaced(name, now) for name in _NANOSECONDS]
        for name in _CALENDAR:
            real = getattr(time, name)
            undos.append(_replaced(name, lambda real=real: real(now() // 10**9)))  # type: ignore[misc]
        undos.append(_replace_datetime(now))
        return _patch.all_of(undos)

    def observe(self, journal: Journal) -> Undo | None:
        """Note each read by the user's code. `datetime.now` cannot be seen: its line of code tells."""
        undos = []
        for name in (*_SECONDS, *_NANOSECONDS, *_CALENDAR):
            original = getattr(time, name)
            undos.append(
                _patch.replace(time, name, _patch.Wrapper(time, original, _noting(journal, original)))
            )
        return _patch.all_of(undos)


def _noting(journal: Journal, original: Callable[..., Any]) -> Callable[..., Any]:
    name = f"time.{original.__name__}"

    def call(*args: Any) -> Any:
        if not args:
            journal.note("clock", name, user_only=True)
        return original(*args)

    return call


def _replaced(name: str, made_up: Callable[[], Any]) -> Undo:
    original = getattr(time, name)

    def call(*args: Any) -> Any:
        if args or not _called_by_users_file():
            return original(*args)
        return made_up()

    wrapper = _patch.Wrapper(time, original, call)
    return _patch.all_of([wrapper.release, _patch.replace(time, name, wrapper)])


def _called_by_users_file() -> bool:
    """Whether the call stands in a file of the user's own, not in a library that the user called."""
    return _user_code.called_directly()


class _Meta(type):
    """Makes the stand-in class answer for the real one."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _real)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _real)


_real = datetime.datetime


def _replace_datetime(now: Callable[[], int]) -> Undo:
    """A class in the place of datetime.datetime, whose instances are real ones."""

    def at(zone: datetime.tzinfo | None) -> datetime.datetime:
        return _real.fromtimestamp(now() / 1e9, zone)

    class Datetime(_real, metaclass=_Meta):
        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            return (_real if cls is Datetime else super()).__new__(
                *((_real,) if cls is Datetime else (cls,)), *args, **kwargs
            )

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return at(tz) if _called_by_users_file() else _real.now(tz)

        @classmethod
        def today(cls) -> Any:
            return at(None) if _called_by_users_file() else _real.today()

        @classmethod
        def utcnow(cls) -> Any:
            if not _called_by_users_file():
                return _real.now(datetime.timezone.utc).replace(tzinfo=None)
            return at(datetime.timezone.utc).replace(tzinfo=None)

    Datetime.__name__ = Datetime.__qualname__ = "datetime"
    Datetime.__module__ = "datetime"
    # real instances must still find their class by its name when they are pickled
    copyreg.pickle(_real, lambda value: (Datetime, cast(Any, value.__reduce__())[1]))
    replaced = _patch.replace(datetime, "datetime", Datetime)

    def undo() -> None:
        copyreg.dispatch_table.pop(_real, None)
        replaced()

    return undo
