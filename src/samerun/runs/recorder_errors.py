"""What of samerun's own failed in the processes of a run, as they wrote it into the run's folder."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from samerun.runs import untrusted

FAILED = "inject-error.txt"  # the run is recorded whole, with less known of it; sitecustomize.py names it too
BROKEN = "recording-error.txt"  # a process is not recorded to its end: the run is no part of `same`
NO_TORCH = "no-torch.txt"  # a Python of the run has none: no fault, but why there are no records
_MOST_BYTES = 16 << 20
_LONGEST = 2000  # characters of a line that are of use


def complain(
    run: str | Path, text: str, *, broken: bool = False, traceback: str = "", name: str | None = None
) -> None:
    """Append one line on what failed, and below it the traceback; the user's process goes on.

    `name` is the file, where it is none of the first two. On a full disk it stays empty, which tells enough.
    """
    lines = [f"{' '.join(text.split())} [process {os.getpid()}, {sys.executable}]"]
    lines += [f"  {line}" for line in traceback.splitlines()]
    name = name or (BROKEN if broken else FAILED)
    try:
        path = Path(run, name)
        path.touch(0o600)
        with path.open("a", encoding="utf-8", errors="replace") as file:
            file.write("\n".join(lines) + "\n")
    except OSError:
        pass


def read_complaints(run: Path, name: str = FAILED) -> list[str]:
    """The different lines of one of these files, without the processes that wrote them.

    Of a file that cannot be read, why.
    """
    try:
        lines = untrusted.read_text(run / name, _MOST_BYTES, errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        return [f"{run / name} cannot be read: {error.strerror or error}. Delete it, or copy the run again"]
    told = (line for line in lines if line.strip() and line[0] != " ")
    said = (re.sub(r" \[process \d+, .*\]$", "", line)[:_LONGEST] for line in told)
    return list(dict.fromkeys(said))


def explain_broken(run: Path) -> str | None:
    """Why a process of this run is not recorded to its end, None when all are as far as they could tell."""
    if not os.path.lexists(run / BROKEN):
        return None
    lines = read_complaints(run, BROKEN)
    if not lines:
        return "the recording of a process broke off, and the disk was too full to say why"
    more = f" ({len(lines) - 1} more in {BROKEN})" if len(lines) > 1 else ""
    return lines[0] + more
