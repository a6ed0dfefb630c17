"""Calls a verb on hostile input, in this process, with limits, and holds what must be so of every answer."""

from __future__ import annotations

import contextlib
import io
import os
import re
import resource
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from samerun.cli.main import main

SECRET = "PLANTED-SECRET-93f1"  # in a file outside of the folder: no answer may hold it
SECONDS = 5  # of computing: a busy machine makes nothing fail
WAIT_S = 60  # until what computes nothing hangs
BYTES = 1 << 30  # of address space, beyond what the process has
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """All that was said, without the breaks of lines."""
        return re.sub(r"\s+", "", self.out + self.err)

    def names(self, file: str) -> bool:
        return re.sub(r"\s+", "", file) in self.words


def ask(folder: Path, *words: str) -> Answer:
    """What `samerun WORDS` answers in a folder; fails where it crashes, hangs, or says what it must not."""
    out, err = io.StringIO(), io.StringIO()
    here = os.getcwd()
    os.chdir(folder)
    try:
        with _limits(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
    finally:
        os.chdir(here)
    said = Answer(code, out.getvalue(), err.getvalue())
    assert code in (0, 1, 2, 3), said
    for text in (said.out, said.err):
        assert "fault of samerun's own" not in text, _last_crash(folder)
        assert "Traceback" not in text
        assert not _UNSAFE.search(text), repr(text)
        assert SECRET not in text
    assert "memory of this machine" not in said.words, said
    assert len(said.err.splitlines()) <= 1, said.err
    return said


@contextlib.contextmanager
def _limits() -> Iterator[None]:
    def late(*_: object) -> None:
        raise TimeoutError(f"no answer after {SECONDS} s of computing, or after {WAIT_S} s")

    before = resource.getrlimit(resource.RLIMIT_AS)
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    timers = {signal.SIGALRM: (signal.ITIMER_REAL, WAIT_S), signal.SIGPROF: (signal.ITIMER_PROF, SECONDS)}
    last = {number: signal.signal(number, late) for number in timers}
    before_timers = [signal.setitimer(*timer) for timer in timers.values()]
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (in_use + BYTES, before[1]))
    try:
        yield
    finally:
        for (timer, _), left in zip(timers.values(), before_timers, strict=True):
            signal.setitimer(timer, *left)
        for number, handler in last.items():
            signal.signal(number, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


def _last_crash(folder: Path) -> str:
    return "".join(path.read_text() for path in sorted((folder / ".samerun").glob("crash-*"))[-1:])
