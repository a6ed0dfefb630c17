"""The reads of grid_samples.py as Triton kernels: all taps of a place together, no copies."""
# In a kernel annotations are part of Triton's language, so its functions have no types.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import torch
import triton
import triton.language as tl

from samerun.ops.engines.triton_probe import launch_on

_TILE = 512  # reads of a program at a time
_CHANNELS = 16  # that a program samples one after the other


@triton.jit(do_not_specialize=["count", "places"])
def _sample(
    values,
    taken,
    weights,
    result,
    count,
    places,
    channels,
    cells,
    T: tl.constexpr,
    BLOCK: tl.constexpr,
    STEP: tl.constexpr,
):
    """result[N, C, places] from values [N, C, cells]; taken (-1: no cell) and weights are [T, N, places]."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tap = tl.arange(0, T).to(tl.int64)
    cell = tl.load(taken + tap[:, None] * count + at[None, :], mask=inside[None, :], other=-1)
    weight = tl.load(weights + tap[:, None] * count + at[None, :], mask=inside[None, :], other=0)
    image = at // places
    first = tl.program_id(1) * STEP
    for number in range(STEP):
        channel = image * channels + first + number
        wanted = inside & (first + number < channels)
        there = (cell >= 0) & wanted[None, :]
        read = tl.load(values + channel[None, :] * cells + cell, mask=there, other=0)
        total = tl.sum(tl.where(there, read * weight, 0), 0)
        tl.store(result + channel * places + at % places, total, mask=wanted)


@triton.jit(do_not_specialize=["count", "places"])
def _correlate(
    values, grad, taken, result, count, places, channels, cells, T: tl.constexpr, BLOCK: tl.constexpr
):
    """result[T, N, places] from values [N, C, cells] and grad [N, C, places]: channels in ascending order."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tap = tl.arange(0, T).to(tl.int64)
    cell = tl.load(taken + tap[:, None] * count + at[None, :], mask=inside[None, :], other=-1)
    there = cell >= 0
    image = at // places
    total = tl.zeros((T, BLOCK), result.dtype.element_ty)
    for number in range(channels):
        channel = image * channels + number
        read = tl.load(values + channel[None, :] * cells + cell, mask=there, other=0)
        back = tl.load(grad + channel * places + at % places, mask=inside, other=0)
        total += tl.where(there, read * back[None, :], 0)
    tl.store(result + tap[:, None] * count + at[None, :], total, mask=inside[None, :])


def sample(values: torch.Tensor, taken: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """[N, C, places] from values [N, C, cells], cells int64[T, N, places] (-1: none) and their weights."""
    taps, images, places = taken.shape
    channels, cells = values.shape[1:]
    result = values.new_empty((images, channels, places))
    if result.numel():
        block = _TILE // taps
        with launch_on(values.device):
            _sample[(-(-images * places // block), -(-channels // _CHANNELS))](
                values.contiguous(),
                taken,
                weights,
                result,
                images * places,
                places,
                channels,
                cells,
                T=taps,
                BLOCK=block,
                STEP=_CHANNELS,
            )
    return result


def correlate(values: torch.Tensor, grad: torch.Tensor, taken: torch.Tensor) -> torch.Tensor:
    """[T, N, places] from values [N, C, cells], grad [N, C, places], cells int64[T, N, places] (-1: none)."""
    taps, images, places = taken.shape
    channels, cells = values.shape[1:]
    result = values.new_zeros(taken.shape)
    if result.numel() and channels:
        block = _TILE // taps
        with launch_on(values.device):
            _correlate[(-(-images * places // block),)](
                values.contiguous(),
                grad.contiguous(),
                taken,
                result,
                images * places,
                places,
                channels,
                cells,
                T=taps,
                BLOCK=block,
            )
    return result
