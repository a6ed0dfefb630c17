"""How a difference lives on, for two plots and one sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from samerun.comparing.growth import Distance, Growth
from samerun.report.html.charts.losses import thin_steps


@dataclass(frozen=True)
class GrowthChart:
    """What the page shows of a growth."""

    said: str
    plot: Mapping[str, Any]  # {"range": [first, last], "loss": columns, "ulps": columns}, steps come first
    table: tuple[tuple[str, ...], ...]  # step, parameters, loss, ulps: a few steps

    @property
    def has_loss(self) -> bool:
        """Whether there are differences of losses to plot."""
        return _points(self.plot["loss"][1]) > 1

    @property
    def has_ulps(self) -> bool:
        """Whether there are differences of weights to plot."""
        return _points(self.plot["ulps"][1]) > 1


def _points(values: Sequence[float | None]) -> int:
    return sum(value is not None for value in values)


def build_grown(growth: Growth | None) -> GrowthChart | None:
    """The distances by step; None when there are none."""
    if growth is None or not growth.distances:
        return None
    every = growth.distances
    sampled = [item for item in every if item.sampled]
    plot = {
        "range": [every[0].step, every[-1].step],
        "loss": _list_columns(every, "loss"),
        "ulps": _list_columns(sampled, "largest_ulps", "median_ulps"),
    }
    return GrowthChart(
        _describe_growth(growth), plot, tuple(_format_row(item) for item in _select_few(growth))
    )


def _list_columns(distances: Sequence[Distance], *names: str) -> list[list[float | None]]:
    """The steps, then these values of each, None where there is no difference: what a plot takes."""
    by_step = {item.step: item for item in distances}
    steps = thin_steps(sorted(by_step), sorted(by_step)[:1])
    return [
        list(steps),
        *([_keep_positive(getattr(by_step[step], name)) for step in steps] for name in names),
    ]


def _keep_positive(value: float | None) -> float | None:
    """On a logarithmic scale there is no zero: equal values leave a gap."""
    return value if value is not None and math.isfinite(value) and value > 0 else None


def _describe_growth(growth: Growth) -> str:
    reached, healed = growth.reached_weights_at, growth.healed_at
    if reached is None:
        said = "The difference does not reach the weights"
    else:
        said = f"The weights differ after step {reached}"
    if healed is not None:
        return f"{said}; from step {healed} on, nothing that was recorded differs."
    if growth.alive is None:
        return f"{said}; whether it lives on is not known: the weights were not recorded."
    if growth.alive:
        return f"{said} and to the end." if reached is not None else f"{said}, but it is there at the end."
    return f"{said}; at the end they are equal again." if reached is not None else f"{said}."


_FIRST, _LAST = 4, 2  # rows of the table


def _select_few(growth: Growth) -> list[Distance]:
    distances = growth.distances
    if len(distances) <= _FIRST + _LAST + 2:
        return list(distances)
    powers = [distances[2**power] for power in range(2, 20) if 2**power < len(distances) - _LAST]
    return list(dict.fromkeys([*distances[:_FIRST], *powers, *distances[-_LAST:]]))


def _format_row(item: Distance) -> tuple[str, ...]:
    return (
        str(item.step),
        f"{item.differing} of {item.parameters}",
        "–" if item.loss is None else "0" if item.loss == 0 else f"{item.loss:.3g}",
        "–" if item.largest_ulps is None else f"{item.largest_ulps:.3g}",
        "–" if item.median_ulps is None else f"{item.median_ulps:.3g}",
    )
