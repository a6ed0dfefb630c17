"""What a diagnosis found, as plain values: reports are made from this alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from samerun.comparing.draw_ledger import DrawCount
from samerun.comparing.growth import Growth
from samerun.comparing.replayed_operation import Replay
from samerun.experiments.check.result import CheckResult, place_of
from samerun.explaining.cause import Cause
from samerun.explaining.patch import Patch
from samerun.runs.difference import Difference


@dataclass(frozen=True)
class Proof:
    """The further runs that show a cause: recorded with it, and those found before, controlled."""

    runs: tuple[str, ...]
    controlled: tuple[str, ...]  # the ids of the sources controlled in them
    way: str  # how the cause was controlled: "control", "replay", "patch" (of the code) or "fresh" (folder)
    agree_until: int | None  # the step at which these runs part; None: they agree to their end
    steps: int  # optimizer steps that they completed


@dataclass(frozen=True)
class FirstDifference:
    """One first difference, and the source behind it: as many as were found one after the other."""

    difference: Difference
    pair: tuple[str, str]  # the runs that part there
    causes: tuple[Cause, ...]  # more than one when they are needed together; () when no source explains it
    proof: Proof | None
    ruled_out: tuple[Cause, ...] = ()
    growth: Growth | None = None
    ledger: tuple[DrawCount, ...] = ()  # the draws around the difference, those that differ first
    notes: tuple[str, ...] = ()
    alone: Replay | None = None  # the operation of equal inputs and other outputs, run again by itself


@dataclass(frozen=True)
class Diagnosis:
    """Every reason for which runs of one command differ."""

    check: CheckResult  # of the first runs: verdict, scope, losses, notes; its causes are all that were found
    found: tuple[FirstDifference, ...] = ()  # in the order of time
    complete: bool = True  # with every cause controlled, the runs agree to their end
    patch: Patch | None = None
    confidence: str | None = None  # what so many equal runs prove, in words
    recorded: int = 0  # how many runs were recorded in all

    def to_json(self) -> dict[str, Any]:
        """The values of `--json`: those of a check, then what a diagnosis adds."""
        return {
            **self.check.to_json(),
            "found": [_convert_found(item) for item in self.found],
            "complete": self.complete,
            "patch": None if self.patch is None else self.patch.to_json(),
            "confidence": self.confidence,
            "recorded": self.recorded,
        }


def _convert_found(found: FirstDifference) -> dict[str, Any]:
    return {
        "difference": place_of(found.difference),
        "pair": list(found.pair),
        "causes": [cause.to_json() for cause in found.causes],
        "proof": None
        if found.proof is None
        else {
            "runs": list(found.proof.runs),
            "controlled": list(found.proof.controlled),
            "way": found.proof.way,
            "agree_until": found.proof.agree_until,
            "steps": found.proof.steps,
        },
        "ruled_out": [cause.to_json() for cause in found.ruled_out],
        "growth": None if found.growth is None else found.growth.to_json(),
        "ledger": [drawn.to_json() for drawn in found.ledger],
        "notes": list(found.notes),
        "alone": None if found.alone is None else found.alone.to_json(),
    }
