"""index_reduce: the slices that go to each index are sorted together and reduced."""

from __future__ import annotations

from collections.abc import Callable

import torch

from samerun.ops.argument_checks import check_dim, name_dtype
from samerun.ops.engines import segments
from samerun.ops.engines.bands import convert_to_sum_dtype
from samerun.ops.example_inputs import draw_integers, draw_normal
from samerun.ops.implementation import Implementation

_JOINS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "prod": torch.mul,
    "mean": torch.add,
    "amin": torch.minimum,
    "amax": torch.maximum,
}


def index_reduce(
    self: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    source: torch.Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> torch.Tensor:
    """self with its slices along a dimension replaced by the reduction of them and those of source."""
    _check(self, dim, index, source, reduce)
    whole = self.clone(memory_format=torch.contiguous_format)
    if not index.numel() or not whole.numel():
        return whole
    if not whole.dim():
        whole, source = whole.view(1), source.reshape(1)
    dim %= whole.dim()
    if index.device.type == "cpu" and not 0 <= int(index.min()) <= int(index.max()) < whole.shape[dim]:
        raise IndexError("index out of range in self")
    join = _JOINS[reduce]
    found = segments.find_segments(index.reshape(-1).long())
    slices = found.reduce(source.movedim(dim, 0), join)
    counts = found.lengths.view(-1, *[1] * (slices.dim() - 1))
    if include_self:
        slices = join(convert_to_sum_dtype(whole.movedim(dim, 0).index_select(0, found.keys)), slices)
        counts = counts + 1
    if reduce == "mean":
        slices = slices / counts if slices.is_floating_point() else slices.div(counts, rounding_mode="floor")
    whole.index_copy_(dim, found.keys, slices.movedim(0, dim).to(whole.dtype))
    return whole.view(self.shape)


def _check(self: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor, reduce: str) -> None:
    """Refuse what torch refuses, in its words."""
    if reduce not in _JOINS:
        raise RuntimeError(
            f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}."
        )
    check_dim(dim, self.dim())
    if index.dim() > 1:
        raise IndexError(
            f"index_reduce_(): Index is supposed to be a vector, but got dim: {index.dim()} "
            f"with type: {name_dtype(index)} and size: {list(index.shape)}"
        )
    if index.dtype not in (torch.int64, torch.int32):
        raise RuntimeError(
            f"index_reduce_(): Expected dtype int32/int64 for index but got: {name_dtype(index)}"
        )
    if self.dtype != source.dtype:
        raise RuntimeError(
            f"index_reduce_(): self ({name_dtype(self)}) and source ({name_dtype(source)}) "
            "must have the same scalar type"
        )
    along = source.shape[dim] if source.dim() else 1
    if index.numel() != along:
        raise RuntimeError(
            f"index_reduce_(): Number of indices ({index.numel()}) should be equal to "
            f"source.size(dim): ({along}), for dim: {dim}"
        )
    kept = [size for at, size in enumerate(self.shape) if at != dim % self.dim()] if self.dim() else []
    given = [size for at, size in enumerate(source.shape) if at != dim % source.dim()] if source.dim() else []
    if kept != given:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(self.shape)} source.shape = {list(source.shape)}"
        )


IMPLEMENTATIONS = (
    Implementation(
        name="index_reduce",
        kernels={"index_reduce": index_reduce},
        example=lambda device: (
            draw_normal((300, 32), device),
            0,
            draw_integers(300, (20_000,), device),
            draw_normal((20_000, 32), device, 2),
            "mean",
        ),
        why="slices are added or multiplied in whatever order their threads finish",
        how="stable sort by index, then a balanced tree over the slices of each",
        source="samerun.ops.engines.segments",
        cost="that of a sort, of the indices alone",
        alerts=("index_reduce_cuda",),
    ),
)
