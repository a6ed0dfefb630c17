"""Backward pass of torchvision's deform_conv2d: samples at learnt places, times a mask, times a matrix.

The gradients of places, mask and weights have no two writers. That of the input has as many as samples read
a cell: these are sorted together and added.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch

from samerun.ops.engines.bands import convert_to_sum_dtype
from samerun.ops.engines.grid_samples import Tap, add_to_cells, correlate, read_linear, sample
from samerun.ops.example_inputs import draw_normal
from samerun.ops.implementation import Implementation

_BLOCK = 2**26  # samples of all channels that are computed together, if they are of several images

Gradients = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def backward(
    grad: torch.Tensor,
    input: torch.Tensor,
    weight: torch.Tensor,
    offset: torch.Tensor,
    mask: torch.Tensor,
    bias: torch.Tensor,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    groups: int,
    offset_groups: int,
    use_mask: bool,
) -> Gradients:
    """The gradients of input [N, C, H, W], weight [O, C / groups, *kernel], offset, mask and bias [O].

    grad is [N, O, *places], offset [N, offset_groups * kernel * 2, *places], each row before its column, and
    mask [N, offset_groups * kernel, *places]; without use_mask it is not read, and its gradient is 0.
    """
    geometry = (stride_h, stride_w), (pad_h, pad_w), (dilation_h, dilation_w)
    at = _compute_undisturbed(weight.shape[2:], grad.shape[2:], *geometry, device=offset.device)
    at = at.to(offset.dtype)  # in which the forward pass adds the offset, and rounds
    wide = [convert_to_sum_dtype(t) for t in (grad, input, weight, mask)]
    grad_input, grad_weight, grad_mask = (t.new_zeros(t.shape) for t in wide[1:])
    grad_offset = wide[0].new_zeros(offset.shape)
    images = max(1, _BLOCK // max(1, input.shape[1] * at[:, 0].numel()))
    for begin in range(0, input.shape[0], images):
        part = slice(begin, begin + images)
        samples = _Samples(wide[1][part], offset[part], at, offset_groups)
        back = _compute_sample_gradient(wide[2], wide[0][part], groups).view_as(samples.values)
        seen = samples.values
        if use_mask:
            grad_mask[part] = (seen * back).sum(1).view_as(grad_mask[part])
            factor = wide[3][part].reshape(back.shape[0], 1, -1)
            back, seen = back * factor, seen * factor
        grad_input[part] = samples.of_input(back).view_as(grad_input[part])
        grad_offset[part] = samples.of_offset(back, weight.shape[2:].numel()).view_as(grad_offset[part])
        grad_weight += _compute_weight_gradient(wide[0][part], seen, groups).view_as(grad_weight)
    return (
        grad_input.to(input.dtype),
        grad_weight.to(weight.dtype),
        grad_offset.to(offset.dtype),
        grad_mask.to(mask.dtype),
        wide[0].sum((0, 2, 3)).to(bias.dtype),
    )


class _Samples:
    """What is sampled of a few images: values [N * offset groups, channels of each, kernel * places]."""

    def __init__(self, input: torch.Tensor, offset: torch.Tensor, at: torch.Tensor, groups: int) -> None:
        count, channels, *sizes = input.shape
        self.cells = input.reshape(count * groups, channels // groups, -1)
        moved = convert_to_sum_dtype(offset.reshape(count * groups, *at.shape) + at)
        y, x = (part.flatten(1) for part in moved.unbind(2))
        both = (read_linear(one, size, torch.ones_like(one)) for one, size in zip((y, x), sizes, strict=True))
        self.taps = [Tap(pair, sizes) for pair in itertools.product(*both)]
        self.values = sample(self.cells, self.taps)

    def of_input(self, grad: torch.Tensor) -> torch.Tensor:
        """The gradient of the input [N * offset groups, channels of each, H * W], from that of the values."""
        return add_to_cells(grad, self.taps, self.cells.shape[2])

    def of_offset(self, grad: torch.Tensor, kernel: int) -> torch.Tensor:
        """The gradient of the offsets [N * offset groups, kernel, 2, places], from that of the values."""
        total = grad.new_zeros((grad.shape[0], 2, grad.shape[2]))
        for tap, seen in zip(self.taps, correlate(self.cells, grad, self.taps), strict=True):
            for dim in (0, 1):
                total[:, dim] += tap.slope(dim) * seen
        return total.view(grad.shape[0], 2, kernel, -1).transpose(1, 2).contiguous()


def _compute_sample_gradient(weight: torch.Tensor, grad: torch.Tensor, groups: int) -> torch.Tensor:
    """The gradient of the samples [N, groups, channels of each * kernel, places], from [N, O, *places]."""
    matrix = weight.reshape(groups, weight.shape[0] // groups, -1)
    return torch.matmul(matrix.transpose(1, 2), grad.reshape(grad.shape[0], groups, matrix.shape[1], -1))


def _compute_weight_gradient(grad: torch.Tensor, samples: torch.Tensor, groups: int) -> torch.Tensor:
    """The gradient of the weights [groups, outputs, channels of each * kernel], from [N, O, *places]."""
    count, outputs = grad.shape[:2]
    places = grad.shape[2:].numel()
    rows = grad.reshape(count, groups, outputs // groups, places).permute(1, 2, 0, 3).flatten(2)
    read = samples.reshape(count, groups, -1, places).permute(1, 0, 3, 2).flatten(1, 2)
    return torch.bmm(rows, read)


def _compute_undisturbed(
    kernel: Sequence[int],
    places: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    dilation: Sequence[int],
    device: torch.device,
) -> torch.Tensor:
    """Where samples are before they are moved, row before column: int64[kernel, 2, places]."""
    grid = []
    for dim in (0, 1):
        steps = torch.arange(kernel[dim], device=device).view(-1, 1) * dilation[dim]
        along = steps + torch.arange(places[dim], device=device) * stride[dim] - pad[dim]
        shape = [1, 1, 1, 1]
        shape[dim], shape[2 + dim] = kernel[dim], places[dim]
        grid.append(along.view(shape).expand(*kernel, *places))
    return torch.stack(grid, 2).reshape(kernel[0] * kernel[1], 2, -1)


def _make_example(device: torch.device) -> tuple[Any, ...]:
    offset, mask = (
        draw_normal((2, 2 * 18, 20, 20), device, 3),
        draw_normal((2, 2 * 9, 20, 20), device, 4).sigmoid(),
    )
    input, weight = draw_normal((2, 8, 20, 20), device, 1), draw_normal((6, 4, 3, 3), device, 2)
    return (
        *(draw_normal((2, 6, 20, 20), device), input, weight, offset, mask, draw_normal((6,), device)),
        *(1, 1, 1, 1, 1, 1, 2, 2, True),
    )


IMPLEMENTATIONS = (
    Implementation(
        name="_deform_conv2d_backward",
        kernels={"_deform_conv2d_backward": backward},
        example=_make_example,
        why="samples add to the cells that they lie between, atomically",
        how="stable sort of the samples by cell, then a balanced tree over the gradients of each",
        source="https://github.com/pytorch/vision/blob/main/torchvision/csrc/ops; "
        "samerun.ops.engines.segments",
        cost="a sort of four keys for each sample, and the samples of all channels a few times in memory",
        alerts=("compute_grad_input",),
        namespace="torchvision",
    ),
)
