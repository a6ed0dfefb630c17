"""The standard input of runs that are made one after the other."""

from __future__ import annotations

import contextlib
import os
import select
import stat
from collections.abc import Iterator


@contextlib.contextmanager
def open_for_a_run() -> Iterator[int]:
    """What one run reads: the file that is our standard input, from where it is now; else nothing.

    Each run gets the whole rest of the file (on Linux), and we none of it. A pipe is left alone: what it
    holds can be read once, and may be meant for what comes after us, as in `while read line; do …`.
    """
    given = _open_file()
    if given is None:
        given = os.open(os.devnull, os.O_RDONLY)
    try:
        yield given
    finally:
        os.close(given)


def _open_file() -> int | None:
    try:
        if not stat.S_ISREG(os.fstat(0).st_mode):
            return None
        given = os.open("/proc/self/fd/0", os.O_RDONLY)
        os.lseek(given, os.lseek(0, 0, os.SEEK_CUR), os.SEEK_SET)
    except OSError:  # it is closed, or cannot be opened again
        return None
    return given


def explain_unread() -> str | None:
    """Why a run that reads its standard input finds nothing there, and what to do; None where none waits."""
    if not hasattr(select, "poll"):
        return None
    poll = select.poll()
    try:
        if not stat.S_ISFIFO(os.fstat(0).st_mode):
            return None
        poll.register(0, select.POLLIN)
        waits = any(event & select.POLLIN for _, event in poll.poll(0))
    except OSError:
        return None
    if not waits:
        return None
    return "what comes through a pipe is not given to the runs: write it to a file, and add < file"
