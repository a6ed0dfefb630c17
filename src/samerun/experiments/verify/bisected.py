"""What a bisection of git's commits found, as plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Tried:
    """A commit that was run, and what `verify` answered there."""

    commit: str
    verdict: str


@dataclass(frozen=True)
class Bisected:
    """The first commit that moved a bit; or, in `reason`, why there is none."""

    commit: str | None = None
    subject: str | None = None
    files: tuple[str, ...] = ()  # that it changed; of uncommitted changes those
    candidates: tuple[str, ...] = ()  # where commits between could not be run: it is one of these
    tried: tuple[Tried, ...] = ()
    reason: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)
