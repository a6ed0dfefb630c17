"""cumprod and logcumsumexp of one long row: block by block, in blocks that the length alone gives.

torch scans a single row on CUDA by a method in which blocks take what is ready of their predecessors
(decoupled look-back), so that the grouping differs from run to run; several rows it scans one block each,
and repeats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from samerun.ops.example_inputs import draw_normal
from samerun.ops.implementation import Implementation
from samerun.ops.torch_hooks import original_kernels

_BLOCK = 1024

Rows = Callable[[torch.Tensor], torch.Tensor]
Join = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def cumprod(self: torch.Tensor, dim: int, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    """The products of the elements up to each, along a dimension."""
    whole = self if dtype is None else self.to(dtype)
    if not _is_one_row(whole, dim):
        result: torch.Tensor = original_kernels.call("cumprod", self.device, self, dim, dtype=dtype)
        return result
    rows: Rows = lambda t: original_kernels.call("cumprod", t.device, t, 1)  # noqa: E731
    return _scan(whole.reshape(-1), 1.0, rows, torch.mul).view(whole.shape)


def logcumsumexp(self: torch.Tensor, dim: int) -> torch.Tensor:
    """The logarithms of the sums of the exponentials of the elements up to each, along a dimension."""
    if not _is_one_row(self, dim):
        result: torch.Tensor = original_kernels.call("_logcumsumexp", self.device, self, dim)
        return result
    rows: Rows = lambda t: original_kernels.call("_logcumsumexp", t.device, t, 1)  # noqa: E731
    return _scan(self.reshape(-1), float("-inf"), rows, torch.logaddexp).view(self.shape)


def _is_one_row(t: torch.Tensor, dim: int) -> bool:
    exact = not (t.is_floating_point() or t.is_complex())
    return not exact and t.numel() > 1 and -t.dim() <= dim < t.dim() and t.shape[dim] == t.numel()


def _scan(t: torch.Tensor, neutral: float, rows: Rows, join: Join) -> torch.Tensor:
    """The scan of [n]: of each block by itself, then of the blocks' last elements, then both joined."""
    blocks = max(2, -(-t.numel() // _BLOCK))  # one row alone would be scanned as what this replaces
    block = torch.cat([t, t.new_full((blocks * _BLOCK - t.numel(),), neutral)]).view(blocks, _BLOCK)
    within = rows(block)
    if t.numel() <= _BLOCK:
        return within[0, : t.numel()].clone()
    before = _scan(within[:-1, -1], neutral, rows, join)
    after = join(before.unsqueeze(1), within[1:])
    return torch.cat([within[0], after.reshape(-1)])[: t.numel()]


_HOW = "blocks of 1024 each by itself, then the blocks' results, then both joined"
_SOURCE = "Blelloch, Prefix Sums and Their Applications, 1990"
_COST = "three passes where torch's own is one"


def _make_example(device: torch.device) -> tuple[Any, ...]:
    return 1 + draw_normal((200_000,), device) / 1000, 0


IMPLEMENTATIONS = (
    Implementation(
        name="cumprod",
        kernels={"cumprod": cumprod},
        example=_make_example,
        why="one long row is grouped by which blocks are ready, and torch does not say so",
        how=_HOW,
        source=_SOURCE,
        cost=_COST,
    ),
    Implementation(
        name="_logcumsumexp",
        kernels={"_logcumsumexp": logcumsumexp},
        example=_make_example,
        why="one long row is grouped by which blocks are ready, and torch does not say so",
        how=_HOW,
        source=_SOURCE,
        cost=_COST,
    ),
)
