"""The exit codes of every verb but `run`, which exits with its command's own."""

from __future__ import annotations

SAME = 0
DIFFERS = 1
USAGE = 2
UNKNOWN = 3
STALE = 4  # `samerun verify`: the lock is of another command, or of other inputs
INTERRUPTED = 130

OF_VERDICT = {"same": SAME, "differs": DIFFERS, "unknown": UNKNOWN}
TIMEOUT = 124  # `samerun run` ended its command; the code that timeout(1) uses


def read_exit_code(code: int | None) -> int:
    """A command's exit code as a shell reports it: 128 + the signal's number after a signal."""
    if code is None:
        return UNKNOWN
    return code if code >= 0 else 128 - code
