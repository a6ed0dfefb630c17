"""What one process says of the test that it ran: plain values in a JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Observed:
    """How a test ended in one process."""

    outcome: str  # passed, failed, skipped or xfailed; or begun: its process ended before it did
    when: str  # setup, call or teardown
    message: str  # of the failure; why it was skipped, or expected to fail
    text: str  # the failure as pytest shows it
    drawn: Mapping[str, str]  # ids of the generators whose state it changed, and the state then

    @property
    def ending(self) -> str:
        """In words: "passed", "failed in setup"."""
        return self.outcome if self.when == "call" else f"{self.outcome} in {self.when}"


def write_observed(path: Path, observed: Observed) -> None:
    """Write it. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(observed)), encoding="utf-8", errors="backslashreplace")


def read_observed(path: Path) -> Observed | None:
    """What `write_observed` wrote; None where the process ended before it could."""
    try:
        return Observed(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
