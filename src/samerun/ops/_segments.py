"""The engine: values that share a key are reduced in one fixed order, on every device.

Stable sort by key, then a balanced tree over each segment of equal keys: neighbours are joined in pairs,
level by level. Which values meet is given by their ranks within the segment alone, so that the bits
depend on neither threads nor blocks nor device, and rounding grows with the logarithm of a segment's
length instead of its length. Work: one sort, and about three passes over the values in all levels
together. One synchronisation with a device, to learn how many values each level has.

The idea of sorted segments is that of torch's index_put_(accumulate=True) on CUDA and of torch_scatter's
segment_csr; the tree is Blelloch's (Prefix Sums and Their Applications, 1990), over ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

Join = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Segments:
    """Keys (int64[n]) in sorted order, and where each distinct one begins."""

    order: torch.Tensor  # int64[n]: the positions of the keys, sorted by key, equal keys in their own order
    keys: torch.Tensor  # int64[s]: the distinct keys, ascending
    lengths: torch.Tensor  # int64[s]: how many have each key
    levels: tuple[int, ...]  # how many values are left after each level of the tree, the n of the start first

    def reduce(self, values: torch.Tensor, join: Join) -> torch.Tensor:
        """Values [n, ...] joined by key: [s, ...], in the order of `keys`."""
        lengths = self.lengths
        starts = lengths.cumsum(0) - lengths
        at = self.order
        if len(self.levels) == 1:
            return values.index_select(0, at)
        for level, size in enumerate(self.levels[1:]):
            shorter = (lengths + 1) // 2
            begins = shorter.cumsum(0) - shorter
            segment = torch.arange(lengths.numel(), device=at.device).repeat_interleave(
                shorter, output_size=size
            )
            rank = torch.arange(size, device=at.device) - begins.index_select(0, segment)
            left = starts.index_select(0, segment) + 2 * rank
            alone = 2 * rank + 1 == lengths.index_select(0, segment)
            right = left + 1 - alone.to(left.dtype)  # itself, and not used, where it has no neighbour
            if level == 0:
                left, right = at.index_select(0, left), at.index_select(0, right)
            first = values.index_select(0, left)
            joined = join(first, values.index_select(0, right))
            values = torch.where(alone.view(-1, *[1] * (values.dim() - 1)), first, joined)
            lengths, starts = shorter, begins
        return values


def segments(keys: torch.Tensor) -> Segments:
    """The segments of int64[n] keys."""
    ordered, order = torch.sort(keys, stable=True)
    distinct, lengths = torch.unique_consecutive(ordered, return_counts=True)
    sizes = [keys.numel()]
    if keys.numel() > distinct.numel():
        halves, totals = lengths, []
        for _ in range((keys.numel() - 1).bit_length()):
            halves = (halves + 1) // 2
            totals.append(halves.sum())
        for total in torch.stack(totals).tolist():
            if sizes[-1] == distinct.numel():
                break
            sizes.append(total)
    return Segments(order, distinct, lengths, tuple(sizes))


def add(keys: torch.Tensor, values: torch.Tensor, size: int) -> torch.Tensor:
    """Sums [size, ...] of values [n, ...] by key; 0 where a key does not occur."""
    if not keys.numel():
        return values.new_zeros((size, *values.shape[1:]))
    found = segments(keys)
    sums = found.reduce(values, torch.add)
    # Each place looks for its sum: index_copy_ would sort once more where it must be deterministic.
    place = torch.arange(size, device=keys.device)
    at = torch.searchsorted(found.keys, place).clamp_(max=found.keys.numel() - 1)
    none = found.keys.index_select(0, at) != place
    return sums.index_select(0, at).masked_fill_(none.view(-1, *[1] * (values.dim() - 1)), 0)


def last_of_equal(keys: torch.Tensor) -> torch.Tensor:
    """The position of the last of each of the keys (int64[n], n > 0), in the order of the keys."""
    ordered, order = torch.sort(keys, stable=True)
    return order[torch.cat([ordered[1:] != ordered[:-1], ordered.new_ones(1, dtype=torch.bool)])]
