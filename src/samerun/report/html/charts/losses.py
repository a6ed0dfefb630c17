"""The losses of all runs, for one plot and one table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from samerun.experiments.check.result import CheckResult
from samerun.report.text.losses import build_loss_table

_MOST = 2_000  # steps in a plot
_NEAR = 100  # steps around a difference that are never left out
_WIDTH = 96  # columns of the table


@dataclass(frozen=True)
class Losses:
    """What the page shows of the losses."""

    plot: Mapping[str, Any]  # {"steps": [...], "runs": [[loss or None, ...], ...]}: the last of each step
    table: tuple[str, ...]  # lines
    every: int  # 1: every step is in the plot; else one of so many
    missing: bool  # some are nan or infinite, and leave a gap


def build_losses(check: CheckResult) -> Losses | None:
    """The losses; None when no run has one."""
    if not any(check.losses):
        return None
    every = sorted(set().union(*check.losses))
    steps = thin_steps(every, [] if check.difference is None else [check.difference.step])
    runs = [[_take_last(of_run.get(step)) for step in steps] for of_run in check.losses]
    missing = any(
        not math.isfinite(value) for of_run in check.losses for step in of_run.values() for value in step
    )
    table = tuple(line.plain.rstrip() for line in build_loss_table(check, _WIDTH))
    return Losses({"steps": steps, "runs": runs}, table, stride(len(every)), missing)


def stride(count: int) -> int:
    """How many steps one point of a plot stands for, when there are so many."""
    return max(1, math.ceil(count / _MOST))


def thin_steps(steps: Sequence[int], marks: Sequence[int]) -> list[int]:
    """No more of these steps than a plot can show: one in so many, and all around the marks."""
    every = stride(len(steps))
    if every == 1:
        return list(steps)
    near = [range(mark - _NEAR, mark + _NEAR + 1) for mark in marks]
    last = len(steps) - 1
    return [
        step
        for number, step in enumerate(steps)
        if number % every == 0 or number == last or any(step in part for part in near)
    ]


def _take_last(of_step: Sequence[float] | None) -> float | None:
    return of_step[-1] if of_step and math.isfinite(of_step[-1]) else None
