"""Which cells of one dimension grid_sample reads for each place, and with what weights; and the way back.

https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/GridSampler.h
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from samerun.ops.engines import segments
from samerun.ops.engines.exact_division import divide
from samerun.ops.engines.triton_probe import works_on

_LINEAR, _NEAREST, _CUBIC = 0, 1, 2
_ZEROS, _BORDER, _REFLECTION = 0, 1, 2
_A = -0.75  # of Keys' cubic kernel


@dataclass(frozen=True)
class Sample:
    """One of the cells read for each place."""

    cell: torch.Tensor  # int64
    inside: torch.Tensor  # bool: whether there is such a cell
    weight: torch.Tensor
    slope: torch.Tensor  # of the weight, by the coordinate as the user gives it


class Tap:
    """One cell for each place: one sample of each dimension."""

    def __init__(self, taken: Sequence[Sample], sizes: Sequence[int]) -> None:
        self.taken = taken
        cell = torch.zeros_like(taken[0].cell)
        inside = torch.ones_like(taken[0].inside)
        for one, size in zip(taken, sizes, strict=True):
            cell = cell * size + one.cell
            inside = inside & one.inside
        self.cell = cell.masked_fill(~inside, 0)
        self.inside = inside

    def weight(self) -> torch.Tensor:
        """The product of the weights."""
        weight = self.taken[0].weight
        for one in self.taken[1:]:
            weight = weight * one.weight
        return weight

    def slope(self, dim: int) -> torch.Tensor:
        """How the weight changes with the coordinate of one dimension."""
        slope = self.taken[dim].slope
        for other, one in enumerate(self.taken):
            if other != dim:
                slope = slope * one.weight
        return slope


def add_to_cells(grad: torch.Tensor, taps: Sequence[Tap], cells: int) -> torch.Tensor:
    """The gradient [N, C, cells] of what was sampled, from that of the samples [N, C, places]."""
    count, channels, places = grad.shape
    outside = count * cells  # which is left out
    start = torch.arange(count, device=grad.device).view(-1, 1) * cells
    keys = torch.stack([(tap.cell + start).masked_fill(~tap.inside, outside) for tap in taps])
    rows = torch.arange(count * places, device=grad.device).repeat(len(taps))
    weights = torch.stack([tap.weight() for tap in taps])
    values = grad.transpose(1, 2).reshape(-1, channels)
    sums = segments.add(keys.reshape(-1), values, outside, rows, weights.reshape(-1), run=cells)
    return sums.view(count, channels, cells)


def sample(values: torch.Tensor, taps: Sequence[Tap]) -> torch.Tensor:
    """What the places read of values [N, C, cells]: [N, C, places], of each tap times its weight."""
    if works_on(values.device):
        from samerun.ops.engines import grid_samples_triton

        return grid_samples_triton.sample(values, _stack(taps), torch.stack([tap.weight() for tap in taps]))
    total = values.new_zeros((*values.shape[:2], taps[0].cell.shape[1]))
    for tap in taps:
        total += _read(values, tap) * tap.weight().unsqueeze(1)
    return total


def correlate(values: torch.Tensor, grad: torch.Tensor, taps: Sequence[Tap]) -> Sequence[torch.Tensor]:
    """What each tap reads of values [N, C, cells], times grad [N, C, places], summed over C: [N, places]."""
    if works_on(values.device):
        from samerun.ops.engines import grid_samples_triton

        return grid_samples_triton.correlate(values, grad, _stack(taps)).unbind(0)
    return [(_read(values, tap) * grad).sum(1).masked_fill_(~tap.inside, 0) for tap in taps]


def _read(values: torch.Tensor, tap: Tap) -> torch.Tensor:
    cell = tap.cell.unsqueeze(1).expand(-1, values.shape[1], -1)
    return values.gather(2, cell).masked_fill_(~tap.inside.unsqueeze(1), 0)


def _stack(taps: Sequence[Tap]) -> torch.Tensor:
    """int64[taps, N, places]: their cells, -1 for none."""
    return torch.stack([tap.cell.masked_fill(~tap.inside, -1) for tap in taps])


def find_samples(at: torch.Tensor, size: int, mode: int, padding: int, align_corners: bool) -> list[Sample]:
    """The cells of a dimension of `size` that places at these coordinates (-1 … 1, or beyond) read."""
    if align_corners:
        scale, x = (size - 1) / 2, (at + 1) / 2 * (size - 1)
    else:
        scale, x = size / 2, ((at + 1) * size - 1) / 2
    if mode == _CUBIC:
        return _read_cubic(x, scale, size, padding, align_corners)
    x, sign = _pad(x, size, padding, align_corners)
    if mode == _NEAREST:
        return [_sample(_replace_unnumbered(x).round(), size, torch.ones_like(x), torch.zeros_like(x))]
    return read_linear(x, size, sign * scale)


def read_linear(x: torch.Tensor, size: int, steep: torch.Tensor) -> list[Sample]:
    """The two cells of a dimension of `size` that places x, in cells, lie between.

    steep is how x changes with the coordinate as the user gives it.
    """
    x = _replace_unnumbered(x)
    low = x.floor()
    return [_sample(low, size, low + 1 - x, -steep), _sample(low + 1, size, x - low, steep)]


def _read_cubic(x: torch.Tensor, scale: float, size: int, padding: int, align_corners: bool) -> list[Sample]:
    low = x.floor()
    t = x - low
    weights = (_weigh_outer(t + 1), _weigh_inner(t), _weigh_inner(1 - t), _weigh_outer(2 - t))
    slopes = (_derive_outer(t + 1), _derive_inner(t), -_derive_inner(1 - t), -_derive_outer(2 - t))
    taken = []
    for step, (weight, slope) in enumerate(zip(weights, slopes, strict=True), start=-1):
        cell, _ = _pad(low + step, size, padding, align_corners)
        taken.append(_sample(_replace_unnumbered(cell), size, weight, slope * scale))
    return taken


def _replace_unnumbered(x: torch.Tensor) -> torch.Tensor:
    """Places outside for those that have no number of a cell."""
    return torch.where(x.isfinite() & (x.abs() < 2**31 - 1), x, -100.0)


def _sample(cell: torch.Tensor, size: int, weight: torch.Tensor, slope: torch.Tensor) -> Sample:
    number = cell.long()
    return Sample(number, (number >= 0) & (number < size), weight, slope)


def _pad(x: torch.Tensor, size: int, padding: int, align_corners: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The coordinate brought inside, and the sign with which it moves: 1, -1, or 0 where it stands still."""
    sign = torch.ones_like(x)
    if padding == _ZEROS:
        return x, sign
    if padding == _REFLECTION:
        x, sign = _reflect(x, *((0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)))
    still = (x <= 0) | (x >= size - 1)
    return x.clamp(0, size - 1), sign.masked_fill(still, 0)


def _reflect(x: torch.Tensor, low: float, high: float) -> tuple[torch.Tensor, torch.Tensor]:
    if low == high:
        return torch.zeros_like(x), torch.zeros_like(x)
    span = high - low
    x = x - low
    sign = torch.where(x < 0, -1.0, 1.0).to(x.dtype)
    x = x.abs()
    extra = x.fmod(span)
    even = divide(x, span).floor().remainder(2) == 0
    return torch.where(even, extra + low, span - extra + low), torch.where(even, sign, -sign)


def _weigh_inner(x: torch.Tensor) -> torch.Tensor:
    return ((_A + 2) * x - (_A + 3)) * x * x + 1


def _weigh_outer(x: torch.Tensor) -> torch.Tensor:
    return ((_A * x - 5 * _A) * x + 8 * _A) * x - 4 * _A


def _derive_inner(x: torch.Tensor) -> torch.Tensor:
    return (3 * (_A + 2) * x - 2 * (_A + 3)) * x


def _derive_outer(x: torch.Tensor) -> torch.Tensor:
    return (3 * _A * x - 10 * _A) * x + 8 * _A
