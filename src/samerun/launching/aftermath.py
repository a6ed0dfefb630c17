"""Ends what a samerun that was killed had started, and clears away what it had made."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from samerun.errors import SamerunError
from samerun.launching.process_tree import cleans_up
from samerun.launching.run import close
from samerun.runs.plan import VARIABLE

_CLEANERS_S = 2.0  # for those that free shared memory once the others are gone
_MOST_S = 30.0
_POLL_S = 0.02
_JITTER_S = 2.0  # the start of a process is known by the clock, which may be set


def clear(told: Sequence[tuple[str, Any]]) -> None:
    """See to what `watcher.Watcher` was told of: processes with their plan, copies, runs."""
    _end(
        {value for kind, value in told if kind == "mark"},
        dict(value for kind, value in told if kind == "process"),
    )
    for kind, value in told:
        if kind == "folder":
            _remove(Path(value))
    for kind, value in told:
        if kind == "run":
            with contextlib.suppress(SamerunError, OSError):
                close(Path(value), "samerun itself was killed, and the command was ended with it")


def _end(marks: set[str], known: dict[int, float]) -> None:
    """Kill these processes (by id and start), all below them, and all that carry one of these plans."""
    began = time.monotonic()
    while time.monotonic() - began < _MOST_S:
        found = _find_living(marks, known)
        if not found:
            return
        known.update((process.pid, process.create_time()) for process in found)
        spares = time.monotonic() - began < _CLEANERS_S
        for process in found:
            if not (spares and cleans_up(process)):
                with contextlib.suppress(psutil.Error):
                    process.kill()
        time.sleep(_POLL_S)


def _find_living(marks: set[str], known: Mapping[int, float]) -> list[psutil.Process]:
    """Those of them that live. Watchers of other sameruns are spared: they see to what those made."""
    found: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
                continue
            began = known.get(process.pid, math.inf)
            if abs(process.create_time() - began) < _JITTER_S or _plan_of(process) in marks:
                for one in (process, *process.children(recursive=True)):
                    found[one.pid] = one
    return [process for process in found.values() if not _is_watcher(process)]


def _plan_of(process: psutil.Process) -> str | None:
    try:
        plan: str | None = process.environ().get(VARIABLE)
        return plan
    except (psutil.Error, OSError):
        return None


def _is_watcher(process: psutil.Process) -> bool:
    """Whether it is the process that waits for the end of a samerun."""
    try:
        return any(word.endswith(os.path.join("launching", "afterwards.py")) for word in process.cmdline())
    except psutil.Error:
        return True  # gone


def _remove(folder: Path) -> None:
    for _ in range(5):  # what is being written when it is removed
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(_POLL_S)
