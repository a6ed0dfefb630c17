"""What `cost` found, as plain values: reports are made from this alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from samerun.experiments.check.result import Verdict
from samerun.experiments.cost.pricing import Ratio
from samerun.runs.schema import SCHEMA


@dataclass(frozen=True)
class Price:
    """What one way to run the command costs, against the command left alone."""

    name: str
    what: str  # for people
    steps: Ratio | None  # of the time of a step; None: too few pairs
    pairs: tuple[float, ...]  # the ratio of each pair
    buys: str | None = None  # what one has from it, as found for this command
    reason: str | None = None  # why it could not be priced

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "name": self.name,
            "what": self.what,
            "step": _convert_ratio(self.steps),
            "pairs": list(self.pairs),
            "buys": self.buys,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Choice:
    """A configuration that one can choose, and whether runs under it agree."""

    name: str  # fast, repeatable, cheapest
    how: str  # the command line or the call that gives it
    verdict: Verdict
    runs: int = 0  # that the verdict rests on
    price: Ratio | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "name": self.name,
            "how": self.how,
            "verdict": self.verdict,
            "runs": self.runs,
            "step": _convert_ratio(self.price),
        }


@dataclass(frozen=True)
class CostResult:
    """What reproducibility costs for one command. `verdict` is that of the cheapest configuration found."""

    verdict: Verdict
    command: tuple[str, ...]
    rounds: int = 0
    prices: tuple[Price, ...] = ()
    choices: tuple[Choice, ...] = ()
    seconds: float | None = None  # the median of a step of the command left alone
    reason: str | None = None
    notes: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    place: str = ""

    def dearest(self) -> Price | None:
        """The single control that costs most, of those that cost more than the noise of the machine."""
        noise = max(
            (price.steps.high for price in self.prices if price.name == NOISE and price.steps), default=1.0
        )
        dear = [
            (price.steps.ratio, price)
            for price in self.prices
            if price.what.startswith(CONTROL)
            and price.steps
            and price.steps.low > 1
            and price.steps.ratio > noise
        ]
        return max(dear, key=lambda pair: pair[0])[1] if dear else None

    def to_json(self) -> dict[str, Any]:
        """The values of `--json`."""
        return {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "rounds": self.rounds,
            "seconds_a_step": self.seconds,
            "prices": [price.to_json() for price in self.prices],
            "choices": [choice.to_json() for choice in self.choices],
            "reason": self.reason,
            "notes": list(self.notes),
            "output": list(self.output),
            "command": list(self.command),
        }


CONTROL = "control"
NOISE = "nothing"  # the name of the command left alone once more


def _convert_ratio(ratio: Ratio | None) -> dict[str, float] | None:
    return None if ratio is None else {"ratio": ratio.ratio, "low": ratio.low, "high": ratio.high}
