"""The engine: values that share a key are reduced in one fixed order.

Stable sort by key, then a balanced tree over each segment of equal keys: neighbours are joined in pairs,
level by level; where Triton works, 32 at a time (_segments_triton.py). Which values meet is given by their
ranks within the segment alone, so that the bits depend on neither threads nor blocks, and rounding grows
with the logarithm of a segment's length instead of its length. Work: one sort, and in pairs about three
passes over the values in all levels together. Two synchronisations with a device, to learn how many
segments there are and how many values each level has.

The idea of sorted segments is that of torch's index_put_(accumulate=True) on CUDA and of torch_scatter's
segment_csr; the tree is Blelloch's (Prefix Sums and Their Applications, 1990), over ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from samerun.ops.engines.bands import convert_to_sum_dtype
from samerun.ops.engines.triton_probe import works_on

Join = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Segments:
    """Keys (int64[n]) in sorted order, and where each distinct one begins."""

    order: torch.Tensor  # int64[n]: the positions of the keys, sorted by key, equal keys in their own order
    keys: torch.Tensor  # int64[s]: the distinct keys, ascending
    lengths: torch.Tensor  # int64[s]: how many have each key

    def reduce(
        self,
        values: torch.Tensor,
        join: Join,
        rows: torch.Tensor | None = None,
        weights: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Values joined by key: [s, ...], in the order of `keys`, in the dtype in which values are added.

        values: [n, ...]; with rows, int64[n]: [r, ...], of which each key has the row that is named;
        weights: float[n], by which these are multiplied.
        """
        rows = self.order if rows is None else rows.index_select(0, self.order)
        weights = None if weights is None else weights.index_select(0, self.order)
        any_equal = self.order.numel() > self.keys.numel()
        if any_equal and join in _FUSED and values.is_floating_point() and works_on(values.device):
            from samerun.ops.engines import segments_triton

            levels = self._levels(segments_triton.PIECE)
            return segments_triton.reduce(values, rows, weights, self.lengths, levels, join is torch.mul)
        return self._reduce_in_pairs(convert_to_sum_dtype(values), join, rows, weights)

    def _reduce_in_pairs(
        self, values: torch.Tensor, join: Join, rows: torch.Tensor, weights: torch.Tensor | None
    ) -> torch.Tensor:
        shape = [-1] + [1] * (values.dim() - 1)

        def take(at: torch.Tensor) -> torch.Tensor:
            found = values.index_select(0, rows.index_select(0, at))
            return found if weights is None else found * weights.index_select(0, at).view(shape)

        lengths = self.lengths
        starts = lengths.cumsum(0) - lengths
        if self.order.numel() == self.keys.numel():
            return take(starts)
        result: torch.Tensor | None = None
        for size in self._levels(2)[1:]:
            shorter = (lengths + 1) // 2
            begins = shorter.cumsum(0) - shorter
            segment = torch.arange(lengths.numel(), device=rows.device).repeat_interleave(
                shorter, output_size=size
            )
            rank = torch.arange(size, device=rows.device) - begins.index_select(0, segment)
            left = starts.index_select(0, segment) + 2 * rank
            alone = 2 * rank + 1 == lengths.index_select(0, segment)
            right = left + 1 - alone.to(left.dtype)  # itself, and not used, where it has no neighbour
            if result is None:
                first, second = take(left), take(right)
            else:
                first, second = result.index_select(0, left), result.index_select(0, right)
            result = torch.where(alone.view(shape), first, join(first, second))
            lengths, starts = shorter, begins
        assert result is not None
        return result

    def _levels(self, pieces: int) -> tuple[int, ...]:
        """How many values are left after each level that makes one of so many; n first. Waits once."""
        sizes = [self.order.numel()]
        lengths, totals, most = self.lengths, [], sizes[0]
        while most > 1:
            lengths = (lengths + pieces - 1) // pieces
            totals.append(lengths.sum())
            most = (most + pieces - 1) // pieces
        for total in torch.stack(totals).tolist():
            if sizes[-1] == self.keys.numel():
                break
            sizes.append(total)
        return tuple(sizes)


_FUSED = (torch.add, torch.mul)


def find_segments(keys: torch.Tensor, limit: int | None = None) -> Segments:
    """The segments of int64[n] keys; with a limit, all are below it: short numbers are sorted faster."""
    if limit is not None and limit <= 2**31:
        keys = keys.int()
    ordered, order = torch.sort(keys, stable=True)
    distinct, lengths = torch.unique_consecutive(ordered, return_counts=True)
    return Segments(order, distinct.long(), lengths)


def add(
    keys: torch.Tensor,
    values: torch.Tensor,
    size: int,
    rows: torch.Tensor | None = None,
    weights: torch.Tensor | None = None,
    run: int = 1,
) -> torch.Tensor:
    """Sums by key, as `Segments.reduce` has them: [size, ...]; 0 where a key does not occur.

    keys: int64[n], from 0 to size, of which `size` is left out. With a run, the sums of so many keys in a
    row lie side by side, as the cells of an image do: [size / run, ..., run].
    """
    shape, groups = values.shape[1:], size // max(1, run)
    result = convert_to_sum_dtype(values.new_empty(0)).new_zeros((groups, shape.numel(), run))
    if keys.numel():
        found = find_segments(keys, size + 1)
        put(result, found.keys, found.reduce(values, torch.add, rows, weights))
    return result.view(groups, *shape, *((run,) if run > 1 else ()))


def put(result: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> None:
    """result[key // run, :, key % run] = values, of [groups, columns, run]; for distinct keys int64[s].

    values: [s, …], columns of each key; keys that are not below groups * run are left out.
    """
    groups, columns, run = result.shape
    values = values.reshape(-1, columns)
    if values.is_floating_point() and works_on(keys.device):
        from samerun.ops.engines import segments_triton

        segments_triton.put(result, keys, values)
        return
    kept = keys < groups * run
    keys, values = keys[kept], values[kept]
    result[keys // run, :, keys % run] = values.to(result.dtype)


def find_last_of_equal(keys: torch.Tensor) -> torch.Tensor:
    """The position of the last of each of the keys (int64[n], n > 0), in the order of the keys."""
    ordered, order = torch.sort(keys, stable=True)
    return order[torch.cat([ordered[1:] != ordered[:-1], ordered.new_ones(1, dtype=torch.bool)])]
