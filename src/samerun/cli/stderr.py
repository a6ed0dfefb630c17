"""Standard output and error may lead to a full disk: what cannot be told must not change an exit code."""

from __future__ import annotations

import os
import sys


def say(message: str) -> None:
    """One line on standard error, if it can be written."""
    try:
        print(f"samerun: {message}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass


def let_go() -> None:
    """Drop what standard output and error hold and cannot write: Python would exit with 120 for it."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None:  # it was closed before we began
            continue
        try:
            stream.flush()
        except (OSError, ValueError):
            try:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream.fileno())
                os.close(nowhere)
                stream.flush()
            except (OSError, ValueError):
                pass
