"""What the bins of regions of interest read of their images, and the way of their gradients back.

A bin reads a rectangle of points, each of which reads a few cells. All bins' points are numbered through, so
that bins of any size stand side by side. What a bin reads of one cell is first joined to one weight, which
holds for every channel: only then are there gradients to add.

Places are computed in the dtype of the regions and in the order of torchvision's kernels, roundings
included: the gradient belongs to the points that the forward pass read.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from samerun.ops.engines import segments


@dataclass(frozen=True)
class Points:
    """The points of bins [roi, row, column]: int64[points] each."""

    roi: torch.Tensor
    row: torch.Tensor
    column: torch.Tensor
    y: torch.Tensor  # the number of the point within its bin, downwards
    x: torch.Tensor  # and to the right

    def take(self, which: torch.Tensor) -> Points:
        """Those of these numbers, int64[n]."""
        fields = (self.roi, self.row, self.column, self.y, self.x)
        return Points(*(field.index_select(0, which) for field in fields))


def points(high: torch.Tensor, wide: torch.Tensor) -> Points:
    """The points of bins that have `high` times `wide` of them: int64[rois, rows, columns] both."""
    counts = (high * wide).reshape(-1)
    bins = torch.arange(counts.numel(), device=counts.device).repeat_interleave(counts)
    starts = counts.cumsum(0) - counts
    rank = torch.arange(bins.numel(), device=counts.device) - starts.index_select(0, bins)
    across = wide.reshape(-1).index_select(0, bins)
    rows, columns = high.shape[1:]
    return Points(
        bins // (rows * columns), bins // columns % rows, bins % columns, rank // across, rank % across
    )


@dataclass(frozen=True)
class Reads:
    """Each cell that a bin reads, once: tensors of [reads]."""

    roi: torch.Tensor  # int64
    row: torch.Tensor  # int64, of the bin
    column: torch.Tensor  # int64, of the bin
    cell: torch.Tensor  # int64: its row in the image times the width, and its column
    weight: torch.Tensor


def join_reads(
    at: Points, bins: tuple[int, int, int], cell: torch.Tensor, weight: torch.Tensor, cells: int
) -> Reads:
    """The reads of points of bins [rois, rows, columns]: what a bin reads of a cell more than once is added.

    cell and weight are [reads of a point, points]; a cell's number is below `cells`.
    """
    rois, rows, columns = bins
    start = ((at.roi * rows + at.row) * columns + at.column) * cells
    found = segments.find_segments((start + cell).view(-1), rois * rows * columns * cells)
    place = found.keys // cells
    return Reads(
        place // (rows * columns),
        place // columns % rows,
        place % columns,
        found.keys % cells,
        found.reduce(weight.view(-1), torch.add),
    )


def scale_regions(rois: torch.Tensor, spatial_scale: float) -> torch.Tensor:
    """[K, 4]: left, top, right and bottom of regions [K, 5], in cells."""
    return rois[:, 1:] * rois.new_full((), spatial_scale)  # which is rounded to the dtype first


def read_image(rois: torch.Tensor) -> torch.Tensor:
    """int64[rois]: the number of the image that a region is of."""
    return rois[:, 0].long()


def compute_every_channel(
    grad: torch.Tensor, rois: torch.Tensor, reads: Reads, shape: tuple[int, int, int, int]
) -> torch.Tensor:
    """The gradient of an input of [N, C, H, W], whose channels are pooled each by itself.

    grad is [rois, C, rows, columns], in the dtype of the result.
    """
    count, channels, height, width = shape
    cells = height * width
    keys = read_image(rois).index_select(0, reads.roi) * cells + reads.cell
    _, _, rows, columns = grad.shape
    bins = (reads.roi * rows + reads.row) * columns + reads.column
    values = grad.permute(0, 2, 3, 1).reshape(-1, channels)
    return segments.add(keys, values, count * cells, bins, reads.weight, run=cells).view(shape)


def compute_mapped_channels(
    grad: torch.Tensor,
    rois: torch.Tensor,
    mapping: torch.Tensor,
    reads: Reads,
    shape: tuple[int, int, int, int],
) -> torch.Tensor:
    """The gradient of an input of [N, C, H, W], of which every bin reads a channel of its own.

    grad and the channels, `mapping`, are [rois, channels of the output, rows, columns].
    """
    count, channels, height, width = shape
    cells = height * width
    bins = reads.roi, reads.row, reads.column
    channel = mapping.long().permute(0, 2, 3, 1)[bins]
    start = (read_image(rois).index_select(0, reads.roi).unsqueeze(1) * channels + channel) * cells
    values = grad.permute(0, 2, 3, 1)[bins] * reads.weight.unsqueeze(1)
    keys = start + reads.cell.unsqueeze(1)
    return segments.add(keys.reshape(-1), values.reshape(-1), count * channels * cells).view(shape)
