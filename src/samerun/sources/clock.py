"""Clocks: https://docs.python.org/3/library/time.html."""

from __future__ import annotations

import ast
import datetime
import re
import signal
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from samerun import callsite, wrapping
from samerun import real_clock as real_clock  # it must be there before these are replaced
from samerun.answers import Answers, find_direct_site
from samerun.runs.difference import Difference, Evidence, Row, Strength
from samerun.runs.plan import Control
from samerun.sources.base.system_value import World
from samerun.sources.evidence import rows
from samerun.sources.patching import attribute, imported
from samerun.sources.patching.clocks import datetime_now, derived_clocks
from samerun.sources.patching.clocks.made_up_time import MadeUpTime
from samerun.sources.patching.replayed_calls import Asked, replay_calls
from samerun.sources.source import Journal, Settings, Undo, Variant
from samerun.wrapping import Around, Parameter

if TYPE_CHECKING:
    from samerun.editing.source_file import File
    from samerun.editing.user_program import Code

_CLOCKS = ("time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime")
_SECONDS = tuple(name for name in _CLOCKS if hasattr(time, name))  # not all of them everywhere
_NANOSECONDS = tuple(f"{name}_ns" for name in _SECONDS)
_YEAR_S: Final = 365 * 86400
# What they make of a number of seconds. With one argument more they are not of now.
_CALENDAR: dict[str, Callable[..., Any]] = {
    "localtime": time.localtime,
    "gmtime": time.gmtime,
    "ctime": time.ctime,
    "asctime": time.ctime,
    "strftime": lambda at, form, real=time.strftime, local=time.localtime: real(form, local(at)),
}
_ZONE = Parameter("tz", 0)  # of datetime.now
_TIMERS = ("signal.setitimer", "signal.alarm", "threading.Timer")
_ASKED = {"strftime": 1, "clock_gettime": 1, "clock_gettime_ns": 1}  # arguments of a read; else none


class Clock(World):
    """The time of day and the time that passes, read by the user's code.

    On request the user's own files read a made-up clock that starts on 2026-01-01 and goes on by what the
    program does; libraries keep the real one, and so do timers.
    """

    id = "clock"
    gives = re.compile(
        r"(time\.(time|perf_counter|monotonic|process_time|thread_time)(_ns)?|time\.(strftime|ctime|asctime|localtime|gmtime"
        r"|clock_gettime)|datetime\.(datetime|date)\.(now|utcnow|today)|.*\.Timestamp\.(now|today)|timeit\.default_timer)"
    )
    summary = "the script reads a clock: for a seed, a name, or a loop with a time limit"
    advice = "seed from a constant, and end loops after a number of steps: for step in range(1000): ..."
    cannot_mend = (
        "what the clock gives is used for more than a seed: end loops after a number of steps instead of "
        "a time, and keep times out of what the training computes"
    )
    side_effect = (
        "the clock then gains 10 ms at each read: a limit of time ends after a number of reads, and names "
        "that are made of the time are those of the run before"
    )
    evidence = "clock"
    also_hooks_into = (derived_clocks.UUID, derived_clocks.LOOP)
    words = re.compile(
        r"\btime\.time|(?<!\.)\btime(_ns)?\(\)|monotonic|perf_counter|process_time|thread_time|clock_gettime"
        r"|\b(now|utcnow|today)\(|\b(localtime|gmtime|ctime|asctime)\(\)|time\.strftime|[\"']now[\"']"
        r"|\buuid1\(|\bgetnode\(|loop\w*(\(\))?\.time\(\)"
    )

    def __init__(self) -> None:
        self._observed: set[str] = set()
        self._replayed: set[str] = set()
        self._controlled: set[str] = set()
        self._control_now: Control | None = None

    def control(self, control: Control) -> Undo | None:
        """Give the user's own calls the made-up clock; called again as other modules come."""
        if control is not self._control_now:
            self._control_now, self._controlled = control, set()
        return imported.patch_new(self._controlled, {"": self._make_up, **derived_clocks.controlling()})

    def _make_up(self) -> Undo:
        made_up = MadeUpTime()
        now = made_up.read
        undos = [made_up.start()]
        undos += [_replace_clock(name, lambda *_: now() / 1e9) for name in _SECONDS]
        undos += [_replace_clock(name, lambda *_: now()) for name in _NANOSECONDS]
        undos += [_replace_clock(name, _make_dated(name, lambda: now() // 10**9)) for name in _CALENDAR]
        undos.append(datetime_now.replace(_make_up_date(now)))
        return attribute.undo_all(undos)

    def replay(self, answers: Answers) -> Undo | None:
        """What the user's own lines read, in their order; timers keep the real time."""
        others = derived_clocks.replaying(answers, self.id)
        return imported.patch_new(self._replayed, {"": lambda: self._replay_time(answers), **others})

    def _replay_time(self, answers: Answers) -> Undo:
        def date(name: str, original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            site = find_direct_site()
            if site is None:
                return original(*args, **kwargs)
            kind, zone = original.__self__, _ZONE.of(args, kwargs, None)  # type: ignore[attr-defined]
            real = original(*args, **kwargs)  # also where another is given: it may warn
            text = answers.ask(self.id, f"datetime.{name}", real.isoformat, site)
            found = kind.fromisoformat(text)
            return found if zone is None else found.astimezone(zone)

        calls = replay_calls(answers, self.id, _list_asked())
        return attribute.undo_all([calls, datetime_now.replace(date)])

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Give the user's own calls a date that is `value` seconds later."""

        def shifted(real: Callable[[], Any], unit: int) -> Callable[[], Any]:
            def now() -> Any:
                took()
                return real() + value * unit

            return now

        seconds = shifted(time.time, 1)
        undos = [_replace_clock("time", seconds), _replace_clock("time_ns", shifted(time.time_ns, 10**9))]
        undos += [_replace_clock(name, _make_dated(name, seconds)) for name in _CALENDAR]

        def date(name: str, original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            found = original(*args, **kwargs)
            if not callsite.is_called_directly():
                return found
            took()
            return found + datetime.timedelta(seconds=value)

        undos.append(datetime_now.replace(date))
        return attribute.undo_all(undos)

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """A year on, and another time zone."""
        return [
            Variant("a year on", _YEAR_S, likely=0.15),
            Variant("in another time zone", 0, {"TZ": "Pacific/Auckland"}, likely=0.1),
        ]

    def recognise(self, difference: Difference) -> Evidence | None:
        """As any value of the system's, or a timer after which the training goes another way."""
        timers = [row for row in self.reads(difference) if row.name in _TIMERS]
        earlier = [difference.rng_first.get(id_, difference.step) for id_ in difference.drawn]
        if (
            not timers
            or difference.kind not in ("flow", "ended")
            or self.branching(difference) is not None
            or min(earlier, default=difference.step) < difference.step
        ):
            found = super().recognise(difference)
            found = found or self._interrupted(difference, timers) or self._measured(difference)
            return found or self._read_before(difference)
        last = timers[-1]
        text = f"{last.name} at {last.call_site} sets a time limit, and the runs took different branches"
        advice = "end the training after a number of steps instead of a time"
        return Evidence(self.id, Strength.STRONG, text, last.call_site, advice, beyond_control=True)

    def _measured(self, difference: Difference) -> Evidence | None:
        """What it gave is compared, so that the code takes one way or another: the fastest, say."""
        if self._is_explained(difference):
            return None
        from samerun.sources.edits.compared_reads import list_compared_reads

        code = rows.read_code(difference.a)
        sites = set() if code is None else _list_sites(code, list_compared_reads)
        reads = [row for row in self.reads(difference) if row.call_site in sites]
        if not reads:
            return None
        text = (
            f"what {reads[-1].name} gives at {reads[-1].call_site} is compared, and nothing else explains it"
        )
        advice = "keep times out of what the training does: choose by a number that is the same each time"
        return Evidence(self.id, Strength.PLAUSIBLE, text, reads[-1].call_site, advice)

    def _read_before(self, difference: Difference) -> Evidence | None:
        """It was read before other samples were chosen, by how long a step takes, say."""
        reads = self.reads(difference)
        if not reads or difference.indices_equal is not False or self._is_explained(difference):
            return None
        last = reads[-1]
        at = last.call_site or "an unknown line"
        text = f"{last.name} was read at {at} before other samples were chosen"
        return Evidence(self.id, Strength.REMOTE, text, last.call_site)

    @staticmethod
    def _is_explained(difference: Difference) -> bool:
        origin = difference.origin
        kernel = origin is not None and origin.inputs_equal and not origin.draws_other_size
        return kernel or rows.is_explained(difference) or bool(rows.list_differing(difference, "seed"))

    def _interrupted(self, difference: Difference, timers: Sequence[Row]) -> Evidence | None:
        """A timer acts in the middle of a loop, which goes on another way: the same records of other data."""
        if not timers or self._is_explained(difference):
            return None
        last = timers[-1]
        text = f"{last.name} at {last.call_site} sets a time limit, and nothing else explains the difference"
        advice = "let a number of steps decide instead of a time"
        return Evidence(self.id, Strength.PLAUSIBLE, text, last.call_site, advice, beyond_control=True)

    def observe(self, journal: Journal) -> Undo | None:
        """Note each read by the user's code, and each timer that it sets."""
        others = derived_clocks.observing(journal)
        return imported.patch_new(self._observed, {"": lambda: self._observe_time(journal), **others})

    def _observe_time(self, journal: Journal) -> Undo:
        undos = _note_timers(journal)
        for name in (*_SECONDS, *_NANOSECONDS, *_CALENDAR):
            undos.append(attribute.patch_for_others(time, name, _make_hook(journal, name)))

        def date(name: str, original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            journal.note("clock", f"datetime.{name}", user_only=True)
            return original(*args, **kwargs)

        undos.append(datetime_now.replace(date))
        return attribute.undo_all(undos)


def _list_sites(code: Code, find: Callable[[File], Iterable[ast.expr]]) -> set[str]:
    sites: set[str] = set()
    for file in code.files:
        sites |= {file.site(node.lineno) for node in find(file)}
    return sites


def _list_asked() -> list[Asked]:
    def count(name: str) -> Callable[[tuple[Any, ...], dict[str, Any]], bool]:
        return lambda args, kwargs: not kwargs and len(args) == _ASKED.get(name, 0)

    plain = [Asked(time, name, f"time.{name}", counts=count(name)) for name in (*_SECONDS, *_NANOSECONDS)]
    text = [
        Asked(time, name, f"time.{name}", counts=count(name)) for name in ("ctime", "asctime", "strftime")
    ]
    parts = [
        Asked(
            time,
            name,
            f"time.{name}",
            counts=count(name),
            pack=lambda at: [list(at), at.tm_zone, at.tm_gmtoff],
            unpack=lambda kept: time.struct_time((*kept[0], kept[1], kept[2])),
        )
        for name in ("localtime", "gmtime")
    ]
    return [*plain, *text, *parts]


def _note_timers(journal: Journal) -> list[Undo]:
    undos = []
    for name, position in (("setitimer", 1), ("alarm", 0)):
        if hasattr(signal, name):  # not on Windows
            hook = _make_timer_hook(journal, f"signal.{name}", position)
            undos.append(attribute.patch_for_others(signal, name, hook))

    def init(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        journal.note("clock", "threading.Timer", user_only=True)
        return original(*args, **kwargs)

    return [*undos, wrapping.wrap_attribute(threading.Timer, "__init__", init)]


def _make_timer_hook(journal: Journal, name: str, position: int) -> Around:
    def call(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) > position and args[position]:  # 0 takes it back
            journal.note("clock", name, user_only=True)
        return original(*args, **kwargs)

    return call


def _make_hook(journal: Journal, name: str) -> Around:
    asked = _ASKED.get(name, 0)

    def call(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) == asked:
            journal.note("clock", f"time.{name}", user_only=True)
        return original(*args, **kwargs)

    return call


def _make_dated(name: str, seconds: Callable[[], float]) -> Callable[..., Any]:
    return lambda *args: _CALENDAR[name](seconds(), *args)


def _replace_clock(name: str, made_up: Callable[..., Any]) -> Undo:
    asked = _ASKED.get(name, 0)

    def call(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if kwargs or len(args) != asked or not callsite.is_called_directly():
            return original(*args, **kwargs)
        return made_up(*args)

    return attribute.patch_for_others(time, name, call)


def _make_up_date(now: Callable[[], int]) -> Callable[..., Any]:
    def call(name: str, original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        kind = original.__self__  # type: ignore[attr-defined]
        zones = [*args, *kwargs.values()]
        is_one = len(zones) <= (name == "now") and kwargs.keys() <= {"tz"}
        if not is_one or not callsite.is_called_directly():
            return original(*args, **kwargs)
        if name == "utcnow":
            original()  # it warns from Python 3.12 on
            return kind.fromtimestamp(now() / 1e9, datetime.timezone.utc).replace(tzinfo=None)
        return kind.fromtimestamp(now() / 1e9, *zones)

    return call
