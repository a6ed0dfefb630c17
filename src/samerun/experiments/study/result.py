"""What `study` found, as plain values: reports are made from this alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from samerun.experiments.study.paired_test import PairedTest
from samerun.experiments.study.variance import Luck, Spread, Sum
from samerun.runs.schema import SCHEMA


@dataclass(frozen=True)
class SourceSpread:
    """What one source alone does to the metric."""

    source: str  # its id; "kernels" for what is left with every seed fixed
    what: str  # for people
    spread: Spread | None  # None: too few runs finished
    seeds: tuple[int, ...] = ()
    values: tuple[float, ...] = ()
    in_play: bool = True  # False: other seeds gave the same run, bit for bit

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "source": self.source,
            "what": self.what,
            "in_play": self.in_play,
            "spread": _spread(self.spread),
            "seeds": list(self.seeds),
            "values": list(self.values),
        }


@dataclass(frozen=True)
class StudyResult:
    """How much of a command's metric is luck, and which luck."""

    command: tuple[str, ...]
    metric: str
    complete: bool = False  # every run that was asked for finished
    seeds: int = 0
    sources: tuple[SourceSpread, ...] = ()
    together: SourceSpread | None = None
    mean: tuple[float, float, float] | None = None  # of all together: the mean and its interval
    total: Sum | None = None
    best: Luck | None = None
    worst: Luck | None = None
    needed: tuple[tuple[float, int | None], ...] = ()  # (precision of the mean, seeds that give it)
    against: tuple[str, ...] = ()
    paired: PairedTest | None = None
    needed_for_difference: int | None = None  # seeds that would tell the difference seen from none
    higher_is_better: bool = True
    made: int = 0  # runs that were carried out
    known: int = 0  # runs that had finished in an earlier study
    reason: str | None = None
    notes: tuple[str, ...] = ()
    place: str = ""

    def to_json(self) -> dict[str, Any]:
        """The values of `--json`."""
        return {
            "schema": SCHEMA,
            "complete": self.complete,
            "reason": self.reason,
            "metric": self.metric,
            "higher_is_better": self.higher_is_better,
            "seeds": self.seeds,
            "sources": [source.to_json() for source in self.sources],
            "together": None if self.together is None else self.together.to_json(),
            "mean": None if self.mean is None else list(self.mean),
            "sum": None if self.total is None else {**asdict(self.total), "adds_up": self.total.adds_up},
            "best": None if self.best is None else asdict(self.best),
            "worst": None if self.worst is None else asdict(self.worst),
            "seeds_needed": [list(pair) for pair in self.needed],
            "against": list(self.against),
            "paired": None if self.paired is None else self.paired.to_json(),
            "seeds_needed_for_difference": self.needed_for_difference,
            "made": self.made,
            "known": self.known,
            "notes": list(self.notes),
            "command": list(self.command),
        }


def _spread(spread: Spread | None) -> dict[str, float] | None:
    return None if spread is None else {**asdict(spread), "deviation": spread.deviation}
