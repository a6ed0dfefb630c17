"""What `vary` found, as plain values: reports are made from this alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from samerun.experiments.check.result import Verdict, place_of
from samerun.runs.difference import Difference
from samerun.runs.schema import SCHEMA


@dataclass(frozen=True)
class Size:
    """How large a difference is. Ulps are units in the last place of float32."""

    loss_step: int | None = None  # the first step whose loss differs
    loss_ulps: float | None = None  # of the loss there
    final_losses: tuple[float, float] | None = None  # of the last step that both runs made: base, varied
    weights_ulps: float | None = None  # the largest, of the first weights that differ, in their own dtype

    def to_json(self) -> dict[str, Any]:
        """Plain values; a loss that is no number by its name."""
        finals = self.final_losses
        return {
            "loss_step": self.loss_step,
            "loss_ulps": self.loss_ulps,
            "final_losses": None
            if finals is None
            else [one if math.isfinite(one) else str(one) for one in finals],
            "weights_ulps": self.weights_ulps,
        }


@dataclass(frozen=True)
class Effect:
    """One source, changed in one way, and what became of the result."""

    source: str
    variant: str
    verdict: Verdict
    runs: tuple[str, ...]
    in_play: bool = True  # False: nothing in the run used what was changed
    weights_only: bool = False  # the variant changes what is called, so only the weights were compared
    difference: Difference | None = None
    size: Size = Size()
    repeats: bool | None = None  # two runs with the change agree with each other; None: not known
    reason: str | None = None  # why the verdict is unknown

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "source": self.source,
            "variant": self.variant,
            "verdict": self.verdict,
            "in_play": self.in_play,
            "weights_only": self.weights_only,
            "first_difference": None if self.difference is None else place_of(self.difference),
            "size": self.size.to_json(),
            "repeats": self.repeats,
            "reason": self.reason,
            "runs": list(self.runs),
        }


@dataclass(frozen=True)
class VaryResult:
    """What the result of a command depends on."""

    verdict: Verdict  # differs: on something; same: on nothing that was tried
    runs: tuple[str, ...]  # the runs that all others are held against
    command: tuple[str, ...]
    folder: str
    mode: str | None = None  # of every run; None: the sources were left alone, but for the one varied
    steps: int = 0
    scope: str = ""
    reason: str | None = None
    effects: tuple[Effect, ...] = ()
    together: tuple[tuple[str, str], ...] = ()  # (source, variant): they change the result only together
    untried: tuple[tuple[str, str], ...] = ()  # for lack of time, or after the first dependence
    notes: tuple[str, ...] = ()
    output: tuple[str, ...] = ()  # the last lines that a failed command printed
    place: str = ""

    def dependences(self) -> list[Effect]:
        """Those that change the result."""
        return [effect for effect in self.effects if effect.verdict == "differs"]

    def to_json(self) -> dict[str, Any]:
        """The values of `--json`."""
        return {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "runs": list(self.runs),
            "steps": self.steps,
            "mode": self.mode,
            "scope": self.scope,
            "reason": self.reason,
            "factors": [effect.to_json() for effect in self.effects],
            "together": [list(pair) for pair in self.together],
            "untried": [list(pair) for pair in self.untried],
            "notes": list(self.notes),
            "output": list(self.output),
            "command": list(self.command),
        }
