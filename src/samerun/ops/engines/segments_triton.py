"""The reduction of segments.py as a Triton kernel: pieces of each segment, then pieces of those.

A piece is at most 32 values of one segment, which one program takes in ascending order; the pieces are
numbered by their rank in the segment. So the order in which values meet is again given by their ranks
alone. Values are read where they lie: nothing is sorted but the keys, and no weighted copy is made.
"""
# In a kernel annotations are part of Triton's language, so its functions have no types.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

from samerun.ops.engines.triton_probe import launch_on

PIECE = 32  # values
_TILE = 256  # sums of a program


@triton.jit(do_not_specialize=["pieces", "longest"])
def _reduce_pieces(
    values,
    rows,
    weights,
    starts,
    lengths,
    result,
    pieces,
    longest,
    columns,
    ROWS: tl.constexpr,
    WEIGHTED: tl.constexpr,
    PRODUCT: tl.constexpr,
    DOUBLE: tl.constexpr,
    HIGH: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """result[pieces, columns]: the sums, or products, of values[rows[at]] * weights[at] over each piece's at.

    starts, lengths: int64[pieces]; rows: int64, weights: float, both in sorted order.
    """
    piece = tl.program_id(0).to(tl.int64) * HIGH + tl.arange(0, HIGH)
    column = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    start = tl.load(starts + piece, mask=piece < pieces, other=0)
    length = tl.load(lengths + piece, mask=piece < pieces, other=0)
    inside = (piece < pieces)[:, None] & (column < columns)[None, :]
    if DOUBLE:
        total = tl.zeros((HIGH, WIDTH), tl.float64)
    else:
        total = tl.zeros((HIGH, WIDTH), tl.float32)
    if PRODUCT:
        total += 1
    for rank in range(longest):
        there = rank < length
        at = start + rank
        row = at
        if ROWS:
            row = tl.load(rows + at, mask=there, other=0)
        wanted = there[:, None] & inside
        value = tl.load(values + row[:, None] * columns + column[None, :], mask=wanted, other=0).to(
            total.dtype
        )
        if WEIGHTED:
            weight = tl.load(weights + at, mask=there, other=0)
            value *= weight[:, None]
        if PRODUCT:
            total *= tl.where(wanted, value, 1)
        else:
            total += tl.where(wanted, value, 0)
    tl.store(
        result + piece[:, None] * columns + column[None, :], total.to(result.dtype.element_ty), mask=inside
    )


def reduce(
    values: torch.Tensor,
    rows: torch.Tensor,
    weights: torch.Tensor | None,
    lengths: torch.Tensor,
    levels: tuple[int, ...],
    product: bool,
) -> torch.Tensor:
    """[s, ...]: the sums (or products) by segment of values [r, ...] at rows int64[n], weighted by [n].

    lengths: int64[s]; levels: how many pieces each level has, n first and s last.
    """
    exact = torch.float64 if values.dtype == torch.float64 else torch.float32
    shape = values.shape[1:]
    values = values.reshape(values.shape[0], -1).contiguous()
    columns = math.prod(shape)
    starts = lengths.cumsum(0) - lengths
    first = True
    for pieces in levels[1:]:
        shorter = (lengths + PIECE - 1) // PIECE
        begins = shorter.cumsum(0) - shorter
        segment = torch.arange(lengths.numel(), device=lengths.device).repeat_interleave(
            shorter, output_size=pieces
        )
        rank = torch.arange(pieces, device=lengths.device) - begins.index_select(0, segment)
        result = values.new_empty((pieces, columns), dtype=exact)
        width = min(triton.next_power_of_2(max(columns, 1)), 128)
        high = _TILE // width
        if result.numel():
            with launch_on(values.device):
                _reduce_pieces[(-(-pieces // high), -(-columns // width))](
                    values,
                    rows,
                    rows if weights is None else weights,
                    starts.index_select(0, segment) + PIECE * rank,
                    (lengths.index_select(0, segment) - PIECE * rank).clamp_(max=PIECE),
                    result,
                    pieces,
                    PIECE,
                    columns,
                    ROWS=first,
                    WEIGHTED=weights is not None,
                    PRODUCT=product,
                    DOUBLE=exact == torch.float64,
                    HIGH=high,
                    WIDTH=width,
                )
        values, weights, lengths, starts, first = result, None, shorter, begins, False
    return values.view(-1, *shape)


@triton.jit(do_not_specialize=["count"])
def _put(result, keys, values, count, limit, columns, run, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    """result[keys // run, column, keys % run] = values[:, column], of keys below the limit: each once."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    key = tl.load(keys + at, mask=at < count, other=limit)
    there = ((key >= 0) & (key < limit))[:, None] & (column < columns)[None, :]
    value = tl.load(values + at[:, None] * columns + column[None, :], mask=there, other=0)
    start = key // run * columns * run + key % run
    tl.store(result + start[:, None] + column[None, :].to(tl.int64) * run, value, mask=there)


def put(result: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> None:
    """What segments.put does, of values float[s, columns]; result is contiguous."""
    values = values.contiguous()
    groups, columns, run = result.shape
    if result.numel():
        width = min(triton.next_power_of_2(columns), 64)
        high = 1024 // width
        with launch_on(values.device):
            _put[(-(-keys.numel() // high), -(-columns // width))](
                result, keys, values, keys.numel(), groups * run, columns, run, BLOCK=high, WIDTH=width
            )
