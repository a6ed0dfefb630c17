"""Backward passes of torchvision's roi_pool and ps_roi_pool: the maxima, or the means, of bins of cells."""

from __future__ import annotations

from typing import Any

import torch

from samerun.ops.engines import bins as _bins
from samerun.ops.engines import segments
from samerun.ops.engines.bands import convert_to_sum_dtype
from samerun.ops.engines.exact_division import divide
from samerun.ops.example_inputs import draw_integers, draw_normal, draw_regions, number_channels
from samerun.ops.implementation import Implementation


def roi_pool_backward(
    grad: torch.Tensor,
    rois: torch.Tensor,
    argmax: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
) -> torch.Tensor:
    """The gradient of the input [N, C, H, W], from grad and the places of the maxima: [K, C, rows, columns].

    A place is that in its plane; -1: the bin is empty.
    """
    cells = height * width
    outside = batch_size * channels * cells  # of empty bins, which is left out
    channel = torch.arange(channels, device=grad.device).view(1, -1, 1, 1)
    start = (_bins.read_image(rois).view(-1, 1, 1, 1) * channels + channel) * cells
    keys = (start + argmax.long()).masked_fill_(argmax == -1, outside)
    sums = segments.add(keys.reshape(-1), convert_to_sum_dtype(grad).reshape(-1), outside)
    return sums.view(batch_size, channels, height, width).to(grad.dtype)


def ps_roi_pool_backward(
    grad: torch.Tensor,
    rois: torch.Tensor,
    channel_mapping: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
) -> torch.Tensor:
    """The gradient of the input [N, C, H, W]; channel_mapping [K, C', rows, columns]: which C a bin reads."""
    shape = (batch_size, channels, height, width)
    if not grad.numel():
        return grad.new_zeros(shape)
    wide = convert_to_sum_dtype(grad)
    left, top, right, bottom = _round_halves(_bins.scale_regions(rois, spatial_scale).float()).unbind(1)
    first_row, rows = _compute_spans(top, bottom, pooled_height, height, rois.dtype)
    first_column, columns = _compute_spans(left, right, pooled_width, width, rois.dtype)
    high = rows.unsqueeze(2).expand(-1, -1, pooled_width)
    across = columns.unsqueeze(1).expand(-1, pooled_height, -1)
    at = _bins.points(high, across)
    row = first_row[at.roi, at.row] + at.y
    column = first_column[at.roi, at.column] + at.x
    share = 1 / (rows[at.roi, at.row] * columns[at.roi, at.column]).to(wide.dtype)
    reads = _bins.Reads(at.roi, at.row, at.column, row * width + column, share)
    return _bins.compute_mapped_channels(wide, rois, channel_mapping, reads, shape).to(grad.dtype)


def _compute_spans(
    start: torch.Tensor, end: torch.Tensor, bins: int, cells: int, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """The first cell of each bin of regions along one dimension, and how many it has: int64[K, bins]."""
    size = divide((end - start).clamp(min=1).to(dtype), bins).unsqueeze(1)
    number = torch.arange(bins, device=start.device, dtype=dtype)
    low = ((number * size).floor().long() + start.unsqueeze(1)).clamp(0, cells)
    high = (((number + 1) * size).ceil().long() + start.unsqueeze(1)).clamp(0, cells)
    return low, (high - low).clamp(min=0)


def _round_halves(t: torch.Tensor) -> torch.Tensor:
    """To the nearest integer, halves away from zero, as C does: int64."""
    whole = t.trunc()
    return (whole + t.sign() * ((t - whole).abs() >= 0.5)).long()


def _make_example(device: torch.device) -> tuple[Any, ...]:
    rois = draw_regions(64, 2, 40, device)
    argmax = draw_integers(1600, (64, 16, 7, 7), device) // 97 * 97
    return draw_normal((64, 16, 7, 7), device), rois, argmax.int(), 1.0, 7, 7, 2, 16, 40, 40


def _make_ps_example(device: torch.device) -> tuple[Any, ...]:
    rois = draw_regions(64, 2, 40, device)
    mapping = number_channels(64, 4, 3, device)
    return draw_normal((64, 4, 3, 3), device), rois, mapping, 1.0, 3, 3, 2, 36, 40, 40


_SOURCE = "https://github.com/pytorch/vision/blob/main/torchvision/csrc/ops; samerun.ops.engines.segments"

IMPLEMENTATIONS = (
    Implementation(
        name="_roi_pool_backward",
        kernels={"_roi_pool_backward": roi_pool_backward},
        example=_make_example,
        why="bins with the same maximum add to it atomically",
        how="stable sort by place, then a balanced tree over the gradients of each",
        source=_SOURCE,
        cost="a sort of as many keys as grad has elements",
        alerts=("roi_pool_backward_kernel",),
        namespace="torchvision",
    ),
    Implementation(
        name="_ps_roi_pool_backward",
        kernels={"_ps_roi_pool_backward": ps_roi_pool_backward},
        example=_make_ps_example,
        why="bins add to the cells that they are means of, atomically",
        how="stable sort by cell, then a balanced tree over the bins of each",
        source=_SOURCE,
        cost="a sort of as many keys as all bins of all channels have cells",
        alerts=("ps_roi_pool_backward_kernel",),
        namespace="torchvision",
    ),
)
