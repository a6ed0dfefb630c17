"""Backward passes of torchvision's roi_align and ps_roi_align: each bin is a mean of bilinear samples."""

from __future__ import annotations

from typing import Any

import torch

from samerun.ops.engines import bins as _bins
from samerun.ops.engines.bands import convert_to_sum_dtype
from samerun.ops.engines.exact_division import divide
from samerun.ops.example_inputs import draw_normal, draw_regions, number_channels
from samerun.ops.implementation import Implementation


def roi_align_backward(
    grad: torch.Tensor,
    rois: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
    sampling_ratio: int,
    aligned: bool,
) -> torch.Tensor:
    """The gradient of the input [N, C, H, W], from grad [K, C, rows, columns] and the regions [K, 5]."""
    shape = (batch_size, channels, height, width)
    if not grad.numel():
        return grad.new_zeros(shape)
    bins = (pooled_height, pooled_width)
    reads = _reads(rois, spatial_scale, bins, (height, width), sampling_ratio, aligned)
    return _bins.compute_every_channel(convert_to_sum_dtype(grad), rois, reads, shape).to(grad.dtype)


def ps_roi_align_backward(
    grad: torch.Tensor,
    rois: torch.Tensor,
    channel_mapping: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
) -> torch.Tensor:
    """The gradient of the input [N, C, H, W]; channel_mapping [K, C', rows, columns]: which C a bin reads."""
    shape = (batch_size, channels, height, width)
    if not grad.numel():
        return grad.new_zeros(shape)
    bins = (pooled_height, pooled_width)
    reads = _reads(rois, spatial_scale, bins, (height, width), sampling_ratio, aligned=True)
    wide = convert_to_sum_dtype(grad)
    return _bins.compute_mapped_channels(wide, rois, channel_mapping, reads, shape).to(grad.dtype)


def _reads(
    rois: torch.Tensor,
    spatial_scale: float,
    bins: tuple[int, int],
    sizes: tuple[int, int],
    sampling_ratio: int,
    aligned: bool,
) -> _bins.Reads:
    """What the bins [rows, columns] of regions [K, 5] read of images of these sizes [H, W]."""
    left, top, right, bottom = (_bins.scale_regions(rois, spatial_scale) - (0.5 if aligned else 0)).unbind(1)
    down = _Samples.of(top, bottom, bins[0], sampling_ratio, aligned)
    across = _Samples.of(left, right, bins[1], sampling_ratio, aligned)
    grid = rois.shape[0], *bins
    at = _bins.points(down.count.view(-1, 1, 1).expand(grid), across.count.view(-1, 1, 1).expand(grid))
    y, y_inside = down.places(at.roi, at.row, at.y, sizes[0])
    x, x_inside = across.places(at.roi, at.column, at.x, sizes[1])
    kept = (y_inside & x_inside).nonzero().squeeze(1)
    at, y, x = at.take(kept), y.index_select(0, kept), x.index_select(0, kept)
    share = 1 / (down.count * across.count).index_select(0, at.roi).to(y.dtype)
    cells, weights = [], []
    for row, row_weight in _find_neighbours(y, sizes[0]):
        for column, column_weight in _find_neighbours(x, sizes[1]):
            cells.append(row * sizes[1] + column)
            weights.append(row_weight * column_weight * share)
    return _bins.join_reads(at, grid, torch.stack(cells), torch.stack(weights), sizes[0] * sizes[1])


class _Samples:
    """Where the bins of regions are sampled along one dimension: tensors of [K]."""

    def __init__(self, start: torch.Tensor, size: torch.Tensor, count: torch.Tensor) -> None:
        self.start = start
        self.size = size  # of one bin
        self.count = count  # int64, in one bin

    @classmethod
    def of(
        cls, start: torch.Tensor, end: torch.Tensor, bins: int, sampling_ratio: int, aligned: bool
    ) -> _Samples:
        """As many for each bin as sampling_ratio says; at 0 or less, one for each cell that a bin is long."""
        length = end - start
        if not aligned:
            length = length.clamp(min=1)
        size = divide(length, bins)
        count = torch.full_like(size, sampling_ratio) if sampling_ratio > 0 else size.ceil()
        return cls(start, size, count.long().clamp(min=0))

    def places(
        self, roi: torch.Tensor, which: torch.Tensor, number: torch.Tensor, cells: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Where samples of bins are, brought inside, and whether they count: by their numbers."""
        start, size = self.start.index_select(0, roi), self.size.index_select(0, roi)
        count = self.count.index_select(0, roi).to(size.dtype)
        at = start + which.to(size.dtype) * size + (number.to(size.dtype) + 0.5) * size / count
        return convert_to_sum_dtype(at).clamp(0, cells - 1), (at >= -1) & (at <= cells)


def _find_neighbours(at: torch.Tensor, cells: int) -> tuple[tuple[torch.Tensor, torch.Tensor], ...]:
    """The two cells that places inside lie between, and their weights; at the end, the last cell twice."""
    low = at.long()
    part = at - low
    return (low, 1 - part), ((low + 1).clamp(max=cells - 1), part)


def _make_example(device: torch.device) -> tuple[Any, ...]:
    rois = draw_regions(64, 2, 40, device)
    return draw_normal((64, 16, 7, 7), device), rois, 1.0, 7, 7, 2, 16, 40, 40, 0, True


def _make_ps_example(device: torch.device) -> tuple[Any, ...]:
    rois = draw_regions(64, 2, 40, device)
    mapping = number_channels(64, 4, 3, device)
    return draw_normal((64, 4, 3, 3), device), rois, mapping, 1.0, 3, 3, 0, 2, 36, 40, 40


_WHY = "samples add to the cells that they lie between, atomically"
_HOW = "one weight for each bin and cell, then the bins of each cell by stable sort and a balanced tree"
_SOURCE = "https://github.com/pytorch/vision/blob/main/torchvision/csrc/ops; samerun.ops.engines.segments"

IMPLEMENTATIONS = (
    Implementation(
        name="_roi_align_backward",
        kernels={"_roi_align_backward": roi_align_backward},
        example=_make_example,
        why=_WHY,
        how=_HOW,
        source=_SOURCE,
        cost="two sorts, of samples and of what bins read; without Triton also a row of channels for each of "
        "these in memory",
        alerts=("roi_align_backward_kernel",),
        namespace="torchvision",
    ),
    Implementation(
        name="_ps_roi_align_backward",
        kernels={"_ps_roi_align_backward": ps_roi_align_backward},
        example=_make_ps_example,
        why=_WHY,
        how=_HOW,
        source=_SOURCE,
        cost="two sorts, of samples and of what all channels of bins read",
        alerts=("ps_roi_align_backward_kernel",),
        namespace="torchvision",
    ),
)
