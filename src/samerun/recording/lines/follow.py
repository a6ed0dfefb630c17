"""Follows the user's own code line by line: what each statement reads and leaves in its variables.

Each event is written at once: a process may be ended at any moment. Nothing of the user's is called:
variables are found in the frames, and attributes in the dictionaries of their objects.
"""

from __future__ import annotations

import ctypes
import itertools
import linecache
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any

import msgspec

from samerun import callsite, lineage, real_clock
from samerun.interruption import is_the_scripts
from samerun.recording.lines.frame_values import NOTHING, find_value, name_function
from samerun.recording.lines.statements import Statement, find_statements
from samerun.recording.lines.values import Values
from samerun.runs.followed import GENERATOR, PREFIX, Value
from samerun.runs.plan import Given
from samerun.sources.base.rng import Rng
from samerun.sources.base.torch_rng import TorchRng
from samerun.sources.catalogue import find_sources
from samerun.sources.torch_cpu import TorchCpu
from samerun.wrapping import passes_for_its_caller

_MOST_EVENTS = 400_000  # of one process; what comes later is not followed
_MOST_TIMES = 2_000  # that one statement is looked at
_FEW_TIMES = 16  # that it is, however long that takes
_MOST_S_OF_ONE = 0.5  # spent on one statement: on one in a loop that reads a long list, say
_MOST_S = 20.0  # spent here by one process

Trace = Callable[[FrameType, str, Any], Any]


def start(run: str, given: Sequence[Given] = ()) -> None:
    """Follow this process, its threads and its forks from here on; `run` is the run's folder.

    What is `given` is written into the variables of that name, where they hold a number of that type.
    """
    follower = _Follower(run, given)
    os.register_at_fork(after_in_child=follower.open)
    threading.settrace(follower.enter)
    sys.settrace(follower.enter)


class _Follower:
    """Where the events of one process go."""

    def __init__(self, run: str, given: Sequence[Given]) -> None:
        self.values = Values()
        self.given: dict[tuple[str, int], list[tuple[str, Iterator[int | float]]]] = {}
        self._all_given = given
        self._generators: list[Rng] = []
        self._run = run
        self._codes: dict[int, _Code | None] = {}  # by the code's id: its hash is that of all it holds
        self._kept: list[CodeType] = []  # so that no other code gets such an id
        self._encode = msgspec.msgpack.Encoder().encode
        self._numbers = itertools.count()
        self._live: dict[int, _Frame] = {}
        self.turns = 0  # how often another thread went on than the one before
        self._thread = 0
        self.open()

    def open(self) -> None:
        """A file of this process; a fork goes on with its parent's calls, so it has them too."""
        self._left = _MOST_EVENTS
        self._spent = 0.0
        self._fd = -1
        place = tuple(map(str, lineage.get_path()))
        self.given.clear()
        for one in self._all_given:
            if one.process == place:
                self.given.setdefault((one.file, one.line), []).append((one.name, iter(one.values)))
        try:
            name = f"{self._run}/{PREFIX}{os.getpid()}"
            self._fd = os.open(name, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError:  # a disk that cannot be written: then nothing is followed
            self._left = 0
        self.write(["process", list(lineage.get_path())])
        for code in filter(None, list(self._codes.values())):
            for event in (code.describe(), *code.described):
                self.write(event)
        for frame in list(self._live.values()):
            self.write(frame.describe([]))

    def write(self, event: list[Any]) -> None:
        """One event, with its length before it."""
        self._left -= 1
        if self._left < 0:
            return
        data = self._encode(event)
        try:
            os.write(self._fd, len(data).to_bytes(4, "little") + data)
        except OSError:
            self._left = 0

    def enter(self, frame: FrameType, event: str, arg: Any) -> Trace | None:
        """The trace function of a process: begins to follow a call of the user's code."""
        known = self._codes.get(id(frame.f_code), NOTHING)
        if known is None or event != "call" or self._left <= 0 or self._spent > _MOST_S:
            return None
        began = real_clock.read_s()
        try:
            code = self._meet(frame) if known is NOTHING else known
            if not isinstance(code, _Code):
                return None
            above = self._find_caller(frame)
            followed = _Frame(self, code, next(self._numbers), above)
            self._live[id(frame)] = followed
            given = [self.values.summarise(frame.f_locals.get(name)) for name in code.arguments]
            self.write(followed.describe(given))
            return followed.go_on
        except Exception as error:  # Python would raise it in the user's code
            self.give_up(error)
            return None
        finally:
            self._spent += real_clock.read_s() - began

    def give_up(self, error: Exception) -> None:
        """Follow nothing any more, after an error of ours; one of the script's is raised."""
        if is_the_scripts(error):
            raise error
        self._left = 0

    def turn(self) -> None:
        """This thread goes on."""
        thread = threading.get_ident()
        if thread != self._thread:
            self._thread = thread
            self.turns += 1

    def _meet(self, frame: FrameType) -> _Code | None:
        code = frame.f_code
        self._kept.append(code)
        followed = callsite.is_the_users(frame) and not passes_for_its_caller(code)
        met = _Code(frame, next(self._numbers)) if followed else None
        if met is not None:
            self.write(met.describe())  # before another thread can write a call of it
        self._codes[id(code)] = met
        return met

    def _find_caller(self, frame: FrameType) -> int | None:
        above = frame.f_back
        while above is not None:
            followed = self._live.get(id(above))
            if followed is not None:
                return followed.number
            above = above.f_back
        return None

    def read_generators(self) -> dict[str, bytes]:
        """The state of each global generator of the host, as a digest; a device's would be waited for."""
        if not self._generators:
            known = (source for source in find_sources().values() if isinstance(source, Rng))
            self._generators = [
                source for source in known if isinstance(source, TorchCpu) or not isinstance(source, TorchRng)
            ]
        there = (one for one in self._generators if not one.hooks_into or _is_imported(one.hooks_into))
        return {
            source.id: GENERATOR + state[:8] for source in there if (state := source.digest()) is not None
        }

    def spend(self, seconds: float) -> None:
        """Count time that went into following."""
        self._spent += seconds

    def leave(self, frame: FrameType) -> None:
        """A call has come back."""
        self._live.pop(id(frame), None)


class _Code:
    """One function of the user's, or a module's own lines."""

    def __init__(self, frame: FrameType, number: int) -> None:
        code = frame.f_code
        self.number = number
        site, line = callsite.call_site(frame).rsplit(":", 1)
        self.shown, self._name = site, code.co_name
        self.arguments = code.co_varnames[
            : code.co_argcount
            + code.co_kwonlyargcount
            + bool(code.co_flags & 0x04)  # *args
            + bool(
                code.co_flags & 0x08
            )  # **kwargs
        ]
        self.below = int(line) - frame.f_lineno  # lines that stand above the file's first, where it is shown
        text = "".join(linecache.getlines(code.co_filename, frame.f_globals))
        self._statements = _parse(code.co_filename, text)
        self.looks: dict[int, _Looks] = {}  # by the line of the statement
        self.described: list[list[Any]] = []  # of its statements, as written

    def describe(self) -> list[Any]:
        """What one needs to know of it, to read its calls."""
        return ["function", self.number, self.shown, self._name, list(self.arguments)]

    def find(self, line: int) -> Statement | None:
        """The statement at a line."""
        return self._statements.get(line)


class _Looks:
    """How often one statement was looked at, and for how long."""

    times = 0
    spent_s = 0.0

    def are_enough(self) -> bool:
        """Whether it is not looked at any more."""
        too_long = self.spent_s > _MOST_S_OF_ONE and self.times > _FEW_TIMES
        return too_long or self.times > _MOST_TIMES


_parsed: dict[str, tuple[int, dict[int, Statement]]] = {}


def _is_imported(name: str) -> bool:
    """Whether a module is there, and whole: what it imports may call the user's code before it is."""
    module = sys.modules.get(name)
    return module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False)


def _parse(name: str, text: str) -> dict[int, Statement]:
    known = _parsed.get(name)
    if known is None or known[0] != hash(text):
        known = _parsed[name] = hash(text), find_statements(text)
    return known[1]


class _Frame:
    """One call, from its first statement to its return."""

    __slots__ = ("_above", "_before", "_code", "_follower", "_generators", "_statement", "_turns", "number")

    def __init__(self, follower: _Follower, code: _Code, number: int, above: int | None) -> None:
        self.number = number
        self._above = above  # the call that it is within
        self._follower = follower
        self._code = code
        self._statement: Statement | None = None
        self._before: list[Value] | None = None
        self._generators: dict[str, bytes] = {}
        self._turns = 0

    def describe(self, given: list[Value]) -> list[Any]:
        """That it was called, and with which arguments."""
        return ["call", self.number, self._above, self._code.number, given]

    def go_on(self, frame: FrameType, event: str, arg: Any) -> Trace | None:
        """The trace function of this call."""
        began = real_clock.read_s()
        try:
            self._follower.turn()
            if event == "line":
                statement = self._code.find(frame.f_lineno)
                if statement is not self._statement:
                    self._complete(frame)
                    self._begin(frame, statement)
            elif event == "return":
                self._complete(frame, arg)
                self._follower.leave(frame)
            return self.go_on
        except Exception as error:  # Python would raise it in the user's code
            self._follower.give_up(error)
            return None
        finally:
            self._follower.spend(real_clock.read_s() - began)

    def _begin(self, frame: FrameType, statement: Statement | None) -> None:
        self._statement = statement
        self._before = None
        if statement is None:
            return
        looks = self._code.looks.get(statement.line)
        if looks is None:
            looks = self._code.looks[statement.line] = _Looks()
            self._code.described.append(self._describe_statement(frame, statement))
            self._follower.write(self._code.described[-1])
        looks.times += 1
        if not looks.are_enough():
            self._before = self._summarise(frame, statement.reads)
            self._turns = self._follower.turns
            self._generators = self._follower.read_generators() if statement.calls else {}

    def _complete(self, frame: FrameType, returned: object = NOTHING) -> None:
        statement = self._statement
        if statement is None:
            return
        if self._follower.given:
            self._give(frame, statement)
        after: list[Value] | None = None
        drawn: dict[str, list[bytes]] | None = None if statement.calls else {}
        if self._before is not None:
            after = self._summarise(frame, (*statement.reads, *statement.writes))
            drawn = self._find_drawn() if statement.calls else {}
        head = ["did", self.number, self._code.number, statement.line, real_clock.read_s()]
        event = [*head, self._before, after, drawn]
        if returned is not NOTHING:
            event.append(self._follower.values.summarise(returned))
        self._follower.write(event)
        self._statement = None

    def _find_drawn(self) -> dict[str, list[bytes]] | None:
        """The states of generators around the statement; None where another thread went on meanwhile."""
        if self._turns != self._follower.turns:
            return None
        now = self._follower.read_generators()
        return {
            id_: [state, now[id_]] for id_, state in self._generators.items() if state != now.get(id_, state)
        }

    def _give(self, frame: FrameType, statement: Statement) -> None:
        """Write what is given into the variables, where they hold such a number."""
        line = statement.line + self._code.below
        for name, values in self._follower.given.get((self._code.shown, line), ()):
            value = next(values, None)
            if value is not None and type(frame.f_locals.get(name)) is type(value):
                frame.f_locals[name] = value
                _write_back(frame)

    def _summarise(self, frame: FrameType, names: tuple[str, ...]) -> list[Value]:
        assert self._statement is not None
        values, began = self._follower.values, real_clock.read_s()
        found = [values.summarise(find_value(frame, name)) if name else None for name in names]
        self._code.looks[self._statement.line].spent_s += real_clock.read_s() - began
        return found

    def _describe_statement(self, frame: FrameType, statement: Statement) -> list[Any]:
        """What one needs to know of a statement: where it is, the names of its values, what it calls."""
        below = self._code.below
        calls = [[name_function(frame, call.name), call.line + below] for call in statement.calls]
        loops = [type(find_value(frame, name)).__name__ for name in statement.loops]
        names = [list(statement.reads), list(statement.writes)]
        return ["statement", self._code.number, statement.line, statement.line + below, *names, calls, loops]


def _write_back(frame: FrameType) -> None:
    """Before Python 3.13 `f_locals` of a function is a copy, written back when asked for."""
    if sys.version_info < (3, 13):
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
