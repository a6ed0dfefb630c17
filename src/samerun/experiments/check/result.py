"""What a check or a diff found, as plain values: reports are made from this alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from samerun.explaining.cause import Cause
from samerun.runs.difference import Difference
from samerun.runs.ignored import LeftOut
from samerun.runs.schema import SCHEMA

Verdict = Literal["same", "differs", "unknown"]


@dataclass(frozen=True)
class CheckResult:
    """The outcome of comparing runs of one command."""

    verdict: Verdict
    runs: tuple[str, ...]  # the ids of the runs compared, in order
    command: tuple[str, ...] = ()
    folder: str = ""  # the working directory of the command: call sites are relative to it
    steps: int = 0  # optimizer steps that every run completed
    scope: str = ""  # what was compared, as a phrase
    reason: str | None = None  # why the verdict is unknown
    difference: Difference | None = None
    pair: tuple[str, str] | None = None  # the two runs that part first
    causes: tuple[Cause, ...] = ()
    suspects: tuple[Cause, ...] = ()
    ruled_out: tuple[Cause, ...] = ()
    losses: tuple[Mapping[int, tuple[float, ...]], ...] = ()  # for each run: the losses of each step
    notes: tuple[str, ...] = ()
    output: tuple[str, ...] = ()  # the last lines that a failed command printed
    controlled: bool = False
    place: str = ""  # the folder that holds the runs
    verdicts: tuple[Verdict, ...] = ()  # of each run but the first, held against the first
    parted: tuple[str, str] | None = None  # the two of `runs` that part first: `pair` may be recorded again
    in_play: tuple[str, ...] = ()  # ids of sources that run 1 used and nothing controlled
    free_running: tuple[str, ...] = ()  # those of them that may go another way in any run
    left_out: tuple[LeftOut, ...] = ()  # what was not compared, since its user ignores it
    foreign: bool = False  # only the manifest of a run that lies elsewhere leads to `folder`

    @property
    def code_folder(self) -> str:
        """The folder whose code may be shown, "" for none."""
        return "" if self.foreign else self.folder

    def to_json(self) -> dict[str, Any]:
        """The values of `--json`: the keys of schema 1, then those that only inform."""
        return {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "runs": list(self.runs),
            "steps": self.steps,
            "first_difference": self._first_difference(),
            "causes": [cause.to_json() for cause in self.causes],
            "suspects": [cause.to_json() for cause in self.suspects],
            "ruled_out": [cause.to_json() for cause in self.ruled_out],
            "scope": self.scope,
            "reason": self.reason,
            "losses": [
                {str(step): [_number(loss) for loss in losses] for step, losses in run.items()}
                for run in self.losses
            ],
            "notes": list(self.notes),
            "output": list(self.output),
            "pair": None if self.pair is None else list(self.pair),
            "command": list(self.command),
            "verdicts": list(self.verdicts),
            "in_play": self.list_in_play(),
            "ignored": [item.to_json() for item in self.left_out],
            "parted": None if self.parted is None else list(self.parted),
        }

    def list_in_play(self) -> list[str]:
        """The ids of the sources that were used, not controlled, and not seen to make a difference."""
        seen = {cause.source for cause in self.causes}
        return [source for source in self.in_play if source not in seen]

    def _first_difference(self) -> dict[str, Any] | None:
        first = self.difference
        if self.verdict != "differs" or first is None:
            return None
        return place_of(first)


def place_of(first: Difference) -> dict[str, Any]:
    """Where a difference is, as plain values."""
    return {
        "step": first.step,
        "phase": first.phase,
        "what": first.what,
        "module": first.module,
        "op": first.op,
        "call_site": first.call_site,
        "rank": first.rank,
        "name": first.name,
        "kind": first.kind,
    }


def _number(value: float) -> float | str:
    """The number, or its name where JSON has none (nan, inf, -inf)."""
    return value if math.isfinite(value) else str(value)
