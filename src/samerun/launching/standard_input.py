"""The standard input of runs that are made one after the other."""

from __future__ import annotations

import contextlib
import os
import select
import stat
from collections.abc import Iterator

_LOCAL, _CHARACTERS = 3, 6  # positions in what termios.tcgetattr gives


@contextlib.contextmanager
def open_for_a_run() -> Iterator[int]:
    """What one run reads: the file that is our standard input, from where it is now; else nothing.

    Each run gets the whole rest of the file (on Linux), and we none of it. A pipe is left alone: what it
    holds can be read once, and may be meant for what comes after us, as in `while read line; do …`. In a
    terminal, a run has another one of the same size, at which nobody types: scripts ask it for its width.
    """
    opened = _open_file() or _open_terminal() or [os.open(os.devnull, os.O_RDONLY)]
    try:
        yield opened[0]
    finally:
        for each in opened:
            os.close(each)


def _open_file() -> list[int]:
    try:
        if not stat.S_ISREG(os.fstat(0).st_mode):
            return []
        given = os.open("/proc/self/fd/0", os.O_RDONLY)
        os.lseek(given, os.lseek(0, 0, os.SEEK_CUR), os.SEEK_SET)
    except OSError:  # it is closed, or cannot be opened again
        return []
    return [given]


def _open_terminal() -> list[int]:
    """The side of a run, and ours, which is to stay open; whatever reads there is at its end at once."""
    if not os.isatty(0) or not hasattr(os, "openpty"):
        return []
    import fcntl
    import termios

    try:
        ours, given = os.openpty()
    except OSError:  # there are no more of them
        return []
    with contextlib.suppress(OSError, termios.error):
        fcntl.ioctl(given, termios.TIOCSWINSZ, fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8)))
        settings = termios.tcgetattr(given)
        settings[_LOCAL] &= ~(termios.ICANON | termios.ECHO)
        settings[_CHARACTERS][termios.VMIN] = settings[_CHARACTERS][termios.VTIME] = 0
        termios.tcsetattr(given, termios.TCSANOW, settings)
    return [given, ours]


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
