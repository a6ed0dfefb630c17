"""What the recorders of a running command tell: how far they are, and whether they have stopped.

Each process rewrites `<stem>.progress` ("STEP LOSS", nan for no loss) and creates `<stem>.stopped`
when the plan's `stop_after` is complete; it then waits to be ended.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass
from pathlib import Path

from samerun.lineage import CLAIM
from samerun.runs import untrusted
from samerun.runs.recorder_errors import BROKEN
from samerun.runs.schema import only_helps

_TRACE, _PROGRESS, _STOPPED = ".trace.arrow", ".progress", ".stopped"
_LAST_ONES_S = 10.0


@dataclass(frozen=True)
class Progress:
    """How far a command is: its latest step (0-based) and loss, and the seconds since its start."""

    step: int | None
    loss: float | None
    elapsed_s: float


class Follower:
    """Follows the recorders that write into the folder `run`."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._first_stop: float | None = None

    def latest(self) -> tuple[int | None, float | None]:
        """The furthest step of any process, and its loss."""
        steps = [read for path in self._training(_PROGRESS) if (read := _read(path))[0] is not None]
        return max(steps, key=lambda read: -1 if read[0] is None else read[0], default=(None, None))

    def all_stopped(self) -> bool:
        """Whether every training process seen has stopped, or one did so ten seconds ago.

        A recorder that failed will never stop its process: one is enough, since there is no verdict without.
        """
        if os.path.lexists(self._run / BROKEN):
            return True
        stopped = {_get_stem(path, _STOPPED) for path in self._training(_STOPPED)}
        if not stopped:
            return False
        if self._first_stop is None:
            self._first_stop = time.monotonic()
        seen = {_get_stem(path, _TRACE) for path in self._training(_TRACE)}
        waiting = {stem for stem in seen - stopped if not self._needs_no_stop(stem, stopped)}
        return not waiting or time.monotonic() - self._first_stop >= _LAST_ONES_S

    def forget(self) -> None:
        """Remove the files by which it was followed."""
        for kind in (_PROGRESS, _STOPPED, CLAIM):
            for path in self._run.glob(f"*{kind}"):
                path.unlink(missing_ok=True)

    def _training(self, kind: str) -> list[Path]:
        return sorted(path for path in self._run.glob(f"rank*{kind}") if not only_helps(path.name))

    def _needs_no_stop(self, stem: str, stopped: set[str]) -> bool:
        """A process that has made no step: it waits for a child that has stopped, or helps one that has."""
        related = any(other.startswith(f"{stem}.") or stem.startswith(f"{other}.") for other in stopped)
        return related and _read(self._run / f"{stem}{_PROGRESS}")[0] is None


def _get_stem(path: Path, kind: str) -> str:
    return path.name[: -len(kind)]


def _read(path: Path) -> tuple[int | None, float | None]:
    """The step and loss of one progress file; None for what is absent or half written."""
    try:
        step, text = untrusted.read_text(path, 1 << 12, errors="replace").split()
        loss = float(text)
        return int(step), None if math.isnan(loss) else loss
    except (OSError, ValueError):
        return None, None
