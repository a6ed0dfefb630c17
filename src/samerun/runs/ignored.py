"""Names of records and results that may differ between runs, each with the reason that its user gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class LeftOut:
    """A record or result that was not compared."""

    what: str  # one of runs.schema.COMPARED or RESULTS
    name: str
    reason: str

    def to_json(self) -> dict[str, str]:
        """As plain values."""
        return {"what": self.what, "name": self.name, "reason": self.reason}


def describe_left_out(left_out: Iterable[LeftOut]) -> list[str]:
    """For people: a line for each name, with its kinds of records and the reason."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for item in left_out:
        kinds.setdefault((item.name, item.reason), []).append(item.what)
    return [
        f"{name} is not compared ({', '.join(dict.fromkeys(whats))}), as the settings ignore it: {reason}"
        for (name, reason), whats in kinds.items()
    ]


@dataclass(frozen=True)
class IgnoredNames:
    """Pairs of a name, in which `*`, `?` and `[…]` are as in a shell, and a reason."""

    patterns: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.patterns)

    def find(self, *names: str) -> str | None:
        """The reason for which a record of one of these names may differ; None where it may not."""
        for pattern, reason in self.patterns:
            if any(name == pattern or fnmatchcase(name, pattern) for name in names):
                return reason
        return None

    def find_record(self, what: str, name: str) -> LeftOut | None:
        """What a record of this kind and name is left out as, by `name` or by `what name`."""
        reason = self.find(name, f"{what} {name}")
        return None if reason is None else LeftOut(what, name, reason)
