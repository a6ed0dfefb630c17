"""Estimates with their intervals, one below the other, as an SVG: drawn here, since no script is needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_LABELS, _PLOT, _ROW, _TOP, _BOTTOM = 210.0, 460.0, 26.0, 8.0, 26.0
_ROOM = 0.04  # of the plot, left free on both sides


@dataclass(frozen=True)
class Estimate:
    """One line of the plot: a value, its interval where it has one, and its text."""

    label: str
    value: float
    text: str
    low: float | None = None
    high: float | None = None
    marked: bool = False


@dataclass(frozen=True)
class Mark:
    """One line as drawn, in units of the drawing."""

    label: str
    text: str
    y: float
    x: float
    left: float
    right: float
    marked: bool


@dataclass(frozen=True)
class Forest:
    """The whole drawing; `ticks` are (x, label), `reference` is where the line of no effect stands."""

    width: float
    height: float
    labels: float
    bottom: float
    marks: tuple[Mark, ...]
    ticks: tuple[tuple[float, str], ...]
    reference: float | None
    title: str


def draw_forest(
    title: str, estimates: Sequence[Estimate], reference: float | None = None, logarithmic: bool = False
) -> Forest | None:
    """Draw them in their order; None when there are none. `logarithmic`: every number is above zero."""
    if not estimates:
        return None
    numbers = [n for item in estimates for n in (item.value, item.low, item.high) if n is not None]
    numbers += [] if reference is None else [reference]
    low, high = min(numbers), max(numbers)
    if low == high:
        low, high = (low / 2, high * 2) if logarithmic else (low - 1, high + 1)

    def scaled(value: float) -> float:
        return math.log(value) if logarithmic else value

    span = scaled(high) - scaled(low)

    def x(value: float) -> float:
        part = (scaled(value) - scaled(low)) / span
        return round(_LABELS + _PLOT * (_ROOM + (1 - 2 * _ROOM) * part), 1)

    marks = tuple(
        Mark(
            item.label,
            item.text,
            _TOP + _ROW * (at + 0.5),
            x(item.value),
            x(item.value if item.low is None else item.low),
            x(item.value if item.high is None else item.high),
            item.marked,
        )
        for at, item in enumerate(estimates)
    )
    height = _TOP + _ROW * len(marks) + _BOTTOM
    ticks = tuple((x(tick), f"{tick:.3g}") for tick in _choose_ticks(low, high, logarithmic))
    return Forest(
        _LABELS + _PLOT + 8,
        height,
        _LABELS,
        height - _BOTTOM,
        marks,
        ticks,
        None if reference is None else x(reference),
        title,
    )


def _choose_ticks(low: float, high: float, logarithmic: bool) -> list[float]:
    """Three to six round numbers between the two."""
    if logarithmic and high / low > 8:
        first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
        step = max(1, -(-(last - first) // 5))
        return [10.0**power for power in range(first, last + 1, step)] or [low, high]
    rough = (high - low) / 4
    unit = 10.0 ** math.floor(math.log10(rough))
    width = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
    begin = math.ceil(low / width)
    return [round(number * width, 12) for number in range(begin, math.floor(high / width) + 1)]
