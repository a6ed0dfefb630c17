"""What sources give this process, kept for a later run; and what they gave an earlier one, given again.

An answer is known by the process's place in the command, the source, what was asked, the user's line that
asked, and how often that line had asked before. So threads and branches do not mix what belongs apart.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

from samerun import callsite, lineage, wrapping
from samerun.runs import answers as files
from samerun.runs.answers import MOST, Answer, Place

START = "start"  # what is kept of a generator as the process begins
_AT_ONCE = 1000  # answers that are written as they come; of more, some are held back in memory:
_MOST_HELD = 256  # so many at most,
_LATEST_S = 0.05  # and no longer than this, once another comes
_now = time.monotonic  # as it is before anybody replaces it
_MISSING = object()

_Key = tuple[Place, str, str, str]
_open: list[Answers] = []


def flush_all() -> None:
    """Write what this process holds back: it is about to be killed."""
    for answers in _open:
        answers.flush()


class Answers:
    """What sources give to this process and to its forks: kept beside the traces of the run `run`.

    With `replayed`, a recorded run, the sources that `holds` names give what they gave there. Where the
    program asks for more than that run did it gets the real answer, which is reported once for each line.
    Of many answers those that come within 50 ms are written together; `flush` writes the rest. Raises
    RunError when the recorded run cannot be read.
    """

    def __init__(self, run: str, replayed: str | None, holds: Callable[[str], bool]) -> None:
        program = lineage.get_place()
        self._path = os.path.join(run, files.name_file(program))
        self._held: list[bytes] = []
        self._written = 0.0
        self._count = 0
        self._sizes: Counter[str] = Counter()
        self._ended: set[str] = set()
        self._lock = threading.RLock()
        self._asking = threading.local()
        self._process = os.getpid()
        self._recorded = None if replayed is None else _Recorded(files.read_answers(Path(replayed), program))
        self._holds = holds
        self._said: set[tuple[str, ...]] = set()
        lineage.call_in_each_child(self._forget)
        _open.append(self)
        wrapping.wrap_attribute(os, "_exit", self._leave)  # as children of multiprocessing leave

    def ask(self, source: str, name: str, real: Callable[[], Any], site: str = "") -> Any:
        """What the recorded run had, or `real()`: plain values (numbers, strings, bytes, lists of these)."""
        if source in self._list_asking():
            return real()
        place = lineage.get_place()
        value = _MISSING
        if self._recorded is not None and self._holds(source):
            value = self._recorded.take((place, source, name, site))
            if value is _MISSING:
                self.part(source, name, site, self._recorded.explain(place, source))
            else:
                self._report(source, "", "", "", "given")
        if value is _MISSING:
            value = self._ask_really(source, real)
        self._write(Answer(place, source, name, site, value))
        return value

    def _ask_really(self, source: str, real: Callable[[], Any]) -> Any:
        """What it reads meanwhile is a part of its answer, and no question of the program's."""
        within = self._list_asking()
        self._asking.now = (*within, source)
        try:
            return real()
        finally:
            self._asking.now = within

    def _list_asking(self) -> tuple[str, ...]:
        """The sources that this thread is asking for a real answer now."""
        return getattr(self._asking, "now", ())

    def recall(self, source: str, name: str) -> Any:
        """What a replayed run had of what a process has from its start; None where it had nothing."""
        if not self.gives(source) or self._recorded is None:
            return None
        value = self._recorded.take((lineage.get_place(), source, name, ""))
        return None if value is _MISSING else value

    def keep(self, source: str, name: str, value: Any, *, given: bool = False) -> None:
        """Keep what this process has from its start; `given`: a replay put that in the place of its own."""
        if given:
            self._report(source, "", "", "", "given")
        self._write(Answer(lineage.get_place(), source, name, "", value))

    def gives(self, source: str) -> bool:
        """Whether this process is a replay of what the source gave."""
        return self._recorded is not None and self._holds(source)

    def part(self, source: str, name: str, site: str, why: str) -> None:
        """In a replay: say that the program was not given what the recorded run had."""
        if self._recorded is not None and self._holds(source) and not self._list_asking():
            self._report(source, name, site, why, "parted")

    def _report(self, source: str, name: str, site: str, text: str, what: str) -> None:
        said = source, name, site, what
        if said not in self._said:
            self._said.add(said)
            self._write(Answer(lineage.get_place(), source, name, site, text, what))

    def _write(self, answer: Answer) -> None:
        if answer.source in self._ended and answer.what == "kept":
            return
        frame = files.encode(answer)
        with self._lock:
            self._sizes[answer.source] += len(frame)
            if self._sizes[answer.source] > MOST and answer.source not in self._ended:
                self._ended.add(answer.source)
                why = f"it gave more than {MOST >> 20} MB, and no more was kept"
                frame = files.encode(Answer(answer.place, answer.source, "", "", why, "ended"))
            self._held.append(frame)
            self._count += 1
            now = _now()
            late = now - self._written > _LATEST_S
            if self._count <= _AT_ONCE or late or len(self._held) >= _MOST_HELD:
                self._written = now
                self.flush()

    def flush(self) -> None:
        """Write what is held back. A disk that takes no more is the recorder's to report."""
        with self._lock:
            held, self._held = self._held, []
            if held:
                files.append(self._path, held)

    def _leave(self, original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.flush()
        return original(*args, **kwargs)

    def _forget(self) -> None:
        """In a fork: what is held back is the parent's to write. A child that learns its place goes on."""
        if os.getpid() == self._process:
            return
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._held = []
        self._count = 0
        self._sizes.clear()
        self._ended.clear()
        self._said.clear()


wrapping.hide_frames(Answers.ask)
wrapping.hide_frames(Answers._ask_really)


class _Recorded:
    """What a program was given, to be taken in order."""

    def __init__(self, recorded: Iterable[Answer]) -> None:
        self._left: dict[_Key, deque[Any]] = {}
        self._ended: dict[tuple[Place, str], str] = {}
        for answer in recorded:
            if answer.what == "kept":
                key = answer.place, answer.source, answer.name, answer.site
                self._left.setdefault(key, deque()).append(answer.value)
            elif answer.what == "ended":
                self._ended[answer.place, answer.source] = str(answer.value)

    def take(self, key: _Key) -> Any:
        """The next answer; _MISSING when none is left."""
        left = self._left.get(key)
        try:
            return _MISSING if left is None else left.popleft()
        except IndexError:  # another thread had the last one
            return _MISSING

    def explain(self, place: Place, source: str) -> str:
        """Why none is left."""
        return self._ended.get((place, source), "the recorded run did not ask for it, or not so often")


def find_site() -> str | None:
    """The user's line that asks, through libraries or not; None where no line of the user's does."""
    frame = callsite.find_user_frame(2)
    return None if frame is None else callsite.call_site(frame)


def find_direct_site() -> str | None:
    """The user's line that asks without a library between; None otherwise."""
    frame = callsite.find_direct_frame(2)
    return None if frame is None else callsite.call_site(frame)


def is_secret() -> bool:
    """Whether what is asked for becomes a key or a token: `secrets` or `ssl` asks for it."""
    frame: FrameType | None = sys._getframe(1)
    module: Any = sys.modules.get("secrets")
    own = getattr(module, "_sysrand", None)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name in ("secrets", "ssl") or (name == "random" and frame.f_locals.get("self", 0) is own):
            return True
        if name != "random" and not name.startswith("samerun."):
            return False
        frame = frame.f_back
    return False
