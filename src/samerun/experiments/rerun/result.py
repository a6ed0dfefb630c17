"""What a rerun found, as plain values: reports are made from this alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from samerun.experiments.check.result import CheckResult, Verdict
from samerun.explaining.cause import Cause


@dataclass(frozen=True)
class Parting:
    """Where the program was not given what the recorded run had."""

    source: str
    name: str  # of what was asked
    call_site: str | None
    why: str


@dataclass(frozen=True)
class Unreplayed:
    """A source in play that was not replayed, and each of its uses: what was called, the user's line."""

    source: str
    uses: tuple[tuple[str, str | None], ...]
    why: str


@dataclass(frozen=True)
class RerunResult:
    """The outcome of running a recorded run again."""

    compared: CheckResult  # the recorded run, then this one
    of: str  # the recorded run's id
    given: tuple[str, ...]  # ids of the sources that gave what they gave then
    changed: tuple[Cause, ...]  # outside of the run, where the two differ: code, input files, packages, …
    parted: tuple[Parting, ...]
    unreplayed: tuple[Unreplayed, ...]
    printed_alike: bool = True  # False: runs of the same bits that printed something else

    @property
    def verdict(self) -> Verdict:
        """Whether it is that run again."""
        return self.compared.verdict

    def to_json(self) -> Mapping[str, Any]:
        """The values of `--json`: those of `diff`, then what is a rerun's own."""
        return {
            **self.compared.to_json(),
            "of": self.of,
            "given": list(self.given),
            "changed": [cause.to_json() for cause in self.changed],
            "parted": [asdict(item) for item in self.parted],
            "unreplayed": [
                {
                    "source": item.source,
                    "uses": [{"name": name, "call_site": site} for name, site in item.uses],
                    "why": item.why,
                }
                for item in self.unreplayed
            ],
            "printed_alike": self.printed_alike,
        }
