"""What a check is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from samerun.runs.plan import Control
from samerun.runs.store import Store


@dataclass(frozen=True)
class Request:
    """A command, and how its runs are made and compared."""

    command: tuple[str, ...]
    folder: Path  # the working directory of every run
    store: Store
    runs: int = 2
    steps: int | None = None  # stop each run after so many optimizer steps
    control: Control | None = None  # None: the sources are left alone
    confirm: bool = True
    timeout: float | None = None  # seconds, for each run
    scratch: bool = False  # each run gets its own copy of `folder`
