"""What comparing two runs found, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from samerun.runs.difference import Difference
from samerun.runs.ignored import LeftOut

Verdict = Literal["same", "differs", "unknown"]


@dataclass(frozen=True)
class Scope:
    """What a verdict rests on."""

    runs: tuple[str, str]  # their ids
    steps: int = 0  # optimizer steps that were compared
    ranks: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)  # records compared, by what they are
    tier: str = "steps"  # "ops" when operations were compared too
    window: tuple[int, int] | None = None  # the steps of these, -1 for the setup; None for all


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side. `difference` is there exactly when the verdict is `differs`."""

    verdict: Verdict
    scope: Scope
    reason: str | None = None  # why the verdict is unknown
    difference: Difference | None = None
    losses: tuple[Mapping[int, tuple[float, ...]], Mapping[int, tuple[float, ...]]] = field(
        default_factory=lambda: ({}, {})
    )  # of the first process that has any, in each run: the losses of each step, in order
    notes: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()  # notes on what else differs, and is not known to be a result
    left_out: tuple[LeftOut, ...] = ()  # what was not compared, since its user ignores it


def list_notes(comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    """The notes of several runs that are compared with one; of what is not judged the first of them tells."""
    unjudged = next((item.unjudged for item in comparisons if item.unjudged), ())
    return tuple(dict.fromkeys((*(note for item in comparisons for note in item.notes), *unjudged)))


class _HasLeftOut(Protocol):
    @property
    def left_out(self) -> tuple[LeftOut, ...]: ...


def list_left_out(results: Iterable[_HasLeftOut]) -> tuple[LeftOut, ...]:
    """What one or more of them did not compare, since its user ignores it."""
    return tuple(dict.fromkeys(item for result in results for item in result.left_out))
