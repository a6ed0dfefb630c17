"""How far the records of one process reach, and why they go no further."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from samerun.runs import rests
from samerun.runs.reading import Trace
from samerun.runs.schema import COMPARED

if TYPE_CHECKING:
    from samerun.runs.reading import Ints

Why = Literal[
    "ended",  # the process wrote how it ended, or had nothing to do when it was ended
    "limited",  # it went on, beyond the steps that are compared
    "stopped",  # the plan stopped the run
    "cut",  # killed, or it left without a word
]


@dataclass(frozen=True)
class Reach:
    """Why a trace ends where it does; `end` is the position of its end record, `step` where it stopped."""

    why: Why
    end: int | None = None
    step: int | None = None


def find_reach(trace: Trace, steps: int | None, run_stopped: bool) -> Reach:
    """How far a trace reaches when steps below `steps` are compared.

    `run_stopped`: the plan stopped the run in another process, so that this one was ended with it.
    """
    decides = trace.is_one_of("what", set(COMPARED))
    if steps is not None and bool((decides & (trace.steps >= steps)).any()):
        return Reach("limited")
    if len(ends := _find_rows(trace, "end")):
        return Reach("ended", end=int(ends[-1]))
    if len(stops := _find_rows(trace, "stopped")):
        return Reach("stopped", step=int(trace.steps[stops[-1]]))
    if run_stopped:
        return Reach("stopped")
    return Reach("ended" if rests.is_marked(trace.path) else "cut")


def has_stopped(trace: Trace) -> bool:
    """Whether the plan stopped this process."""
    return bool(len(_find_rows(trace, "stopped")))


def may_lack(short: Reach, other: Reach) -> bool:
    """Whether the shorter of two equal traces may lack the other's last records and be no different."""
    if short.why != "stopped":
        return False
    both_told = other.why == "stopped" and short.step is not None and other.step is not None
    return not both_told or short.step != other.step


def _find_rows(trace: Trace, what: str) -> Ints:
    import numpy as np

    return np.flatnonzero(trace.is_one_of("what", {what}))
