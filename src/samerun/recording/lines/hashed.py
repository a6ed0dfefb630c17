"""What some lines of the user's code hash: texts and numbers alone, or also what is hashed by its address.

As in `follow`, nothing of the user's is called: values are found in the frames, and in their objects.
"""

from __future__ import annotations

import builtins
import enum
import itertools
import linecache
import math
import os
import pathlib
import sys
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable
from types import CodeType, FrameType, ModuleType
from typing import Any

from samerun import callsite
from samerun.recording.lines.frame_values import NOTHING, find_value
from samerun.recording.lines.statements import Statement, find_statements
from samerun.runs.followed import COMPREHENSIONS
from samerun.runs.schema import OTHER, TEXTS
from samerun.sources.source import Journal

_MOST_TIMES = 200  # that one line is looked at
_MOST_ELEMENTS = 1000  # of one container
_DEEPEST = 4
_PLAIN = (str, bytes, int, float, complex, bool)
# Before Python 3.12 None is hashed by its address.
_ALWAYS_ALIKE = (*_PLAIN, type(None)) if sys.version_info >= (3, 12) else _PLAIN
_CONTAINERS: tuple[Any, ...] = (set, frozenset, list, tuple, deque, dict)
_BY_NAME: tuple[object, ...] = (pathlib.PurePath.__hash__, enum.Enum.__hash__)
# What gives elements of what it is given, or a number.
_PASS_ON = frozenset(
    [
        "dict",
        "enumerate",
        "filter",
        "frozenset",
        "hash",
        "iter",
        "len",
        "list",
        "map",
        "max",
        "min",
        "next",
        "print",
        "range",
        "reversed",
        "set",
        "sorted",
        "str",
        "sum",
        "tuple",
        "zip",
    ]
)
Trace = Callable[[FrameType, str, Any], Any]


def watch(journal: Journal, sites: Collection[str]) -> None:
    """Note what is hashed at these call sites: texts the first time, anything else the first time too.

    The lines are looked at a number of times each: a function may be given now one set, now another.
    """
    watcher = _Watcher(journal, sites)
    threading.settrace(watcher.enter)
    sys.settrace(watcher.enter)


class _Watcher:
    def __init__(self, journal: Journal, sites: Collection[str]) -> None:
        self._journal = journal
        self._left = dict.fromkeys(sites, _MOST_TIMES)
        self._files = {os.path.basename(site.rpartition(":")[0].partition("[")[0]) for site in sites}
        self._notebooks = any("[" in site for site in sites)
        self._lines = {int(site.rpartition(":")[2]) for site in sites}
        self._texts: set[str] = set()  # the sites where nothing else was seen so far
        self._statements: dict[str, dict[int, Statement]] = {}
        self._codes: dict[int, tuple[CodeType, bool]] = {}  # by identity: to hash one takes long

    def enter(self, frame: FrameType, event: str, arg: Any) -> Trace | None:
        """The trace function of a thread: follows calls of functions in the files that hold a site."""
        if not self._left:
            sys.settrace(None)
            return None
        code = frame.f_code
        known = self._codes.get(id(code))
        if known is None:
            known = self._codes[id(code)] = code, self._holds_site(code)
        return self._go_on if known[1] else None

    def _holds_site(self, code: CodeType) -> bool:
        """Whether the lines of a function may be one of the sites: each line that is followed costs time."""
        if code.co_name in COMPREHENSIONS:
            return False  # it was looked at in the frame around it, which has its names
        known = self._notebooks or os.path.basename(code.co_filename) in self._files
        return known and any(line in self._lines for _, _, line in code.co_lines())

    def _go_on(self, frame: FrameType, event: str, arg: Any) -> Trace | None:
        if event == "line" and frame.f_lineno in self._lines and self._left:
            try:
                self._look(frame)
            except Exception:  # a stranger's object, or another thread changes it: then it is not known
                self._left.clear()
        return self._go_on

    def _look(self, frame: FrameType) -> None:
        site = callsite.call_site(frame)
        if site not in self._left:
            return
        kinds = set(_classify_line(frame, self._find_statement(frame)))
        self._left[site] -= 1
        if OTHER in kinds or (not self._left[site] and site not in self._texts):
            self._journal.note("hashed", OTHER)
            del self._left[site]
            return
        if kinds and site not in self._texts:
            self._texts.add(site)
            self._journal.note("hashed", TEXTS)
        if not self._left[site]:
            del self._left[site]

    def _find_statement(self, frame: FrameType) -> Statement | None:
        name = frame.f_code.co_filename
        if name not in self._statements:
            text = "".join(linecache.getlines(name, frame.f_globals))
            self._statements[name] = find_statements(text)
        return self._statements[name].get(frame.f_lineno)


def _classify_line(frame: FrameType, statement: Statement | None) -> Iterable[str]:
    """The kinds of what a statement reads; what it calls may give anything."""
    if statement is None:
        yield OTHER
        return
    called = {call.name for call in statement.calls}
    for name in called:
        owner, _, method = name.rpartition(".")
        builtin = not owner and getattr(builtins, method, NOTHING) is find_value(frame, method)
        if not (builtin and method in _PASS_ON) and not _is_of_values(frame, owner):
            yield OTHER
    for name in statement.reads:
        value = find_value(frame, name)
        if name in called or (name in statement.writes and value is NOTHING):
            continue  # the variable of a comprehension
        if not issubclass(type(value), ModuleType):
            yield from _classify(value, 0)


def _is_of_values(frame: FrameType, owner: str) -> bool:
    """Whether a function is a text's or a container's, which give a part of it, or of arrays or numbers."""
    value = find_value(frame, owner) if owner else NOTHING
    if issubclass(type(value), ModuleType):
        return value is sys.modules.get("numpy") or value is math
    return issubclass(type(value), (*_PLAIN, *_CONTAINERS))


def _is_numpys(kind: type) -> bool:
    """Whether it is a text or a number of NumPy's: they are hashed as Python's are."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and issubclass(kind, (numpy.str_, numpy.bytes_, numpy.number, numpy.bool_))


def _classify(value: Any, depth: int) -> Iterable[str]:
    """The kinds of what is hashed where this value is, or what it holds; none for an empty container."""
    kind = type(value)
    is_plain = kind in _ALWAYS_ALIKE or _is_numpys(kind)
    if is_plain or type.__getattribute__(kind, "__hash__") in _BY_NAME:
        yield TEXTS
    elif kind in _CONTAINERS and depth < _DEEPEST:
        for parts in (value, value.values()) if kind is dict else (value,):
            for part in itertools.islice(parts, _MOST_ELEMENTS):
                yield from _classify(part, depth + 1)
    else:
        yield OTHER
