"""torchvision's operations on regions and at learnt places, in plain torch that autograd differentiates.

For each backward operation of torchvision that samerun implements: SCHEMAS has what torchvision declares,
CASES yields its arguments, and REFERENCES computes in float64 what it should give. Places are computed in the
dtype of the regions and offsets, as the forward pass does; everything else is exact.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch

from .grids import randn

Args = tuple[Any, ...]
Gradients = list[torch.Tensor]

_POOLED = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_INPUT = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_STEPS = "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w"
SCHEMAS = {  # of torchvision 0.28; before, deform_conv2d had int for SymInt
    "_roi_align_backward": f"Tensor grad, Tensor rois, {_POOLED}, {_INPUT}, int sampling_ratio, bool aligned",
    "_ps_roi_align_backward": "Tensor grad, Tensor rois, Tensor channel_mapping, "
    f"{_POOLED}, int sampling_ratio, {_INPUT}",
    "_roi_pool_backward": f"Tensor grad, Tensor rois, Tensor argmax, {_POOLED}, {_INPUT}",
    "_ps_roi_pool_backward": f"Tensor grad, Tensor rois, Tensor channel_mapping, {_POOLED}, {_INPUT}",
    "_deform_conv2d_backward": "Tensor grad, Tensor input, Tensor weight, Tensor offset, Tensor mask, "
    f"Tensor bias, {_STEPS}, SymInt groups, SymInt offset_groups, bool use_mask",
}


def schema(name: str) -> str:
    results = "(Tensor, Tensor, Tensor, Tensor, Tensor)" if "deform" in name else "Tensor"
    return f"{name}({SCHEMAS[name]}) -> {results}"


# --- arguments -------------------------------------------------------------------------------------

IMAGES, HEIGHT, WIDTH = 3, 7, 9


def rois() -> dict[str, torch.Tensor]:
    """float64[K, 5] of images of 7 rows and 9 columns, at scale 1."""
    boxes = {
        "inside": [
            [0, 1.2, 0.7, 6.3, 5.9],
            [2, 0, 0, 8, 6],
            [0, 1.2, 0.7, 6.3, 5.9],
            [0, 2.5, 2.5, 4.5, 3.5],
        ],
        "partly outside": [[1, -3.2, -2.1, 4.4, 3.3], [1, 5.1, 4.2, 14.7, 11.3], [0, -20, -20, -9, -9]],
        "tiny": [[2, 3.3, 3.3, 3.4, 3.35], [2, 4.5, 4.5, 4.5, 4.5], [1, 6.2, 5.1, 6.6, 5.2]],
        "the wrong way round": [[0, 6.3, 5.9, 1.2, 0.7], [1, 2.2, 5.5, 6.1, 1.5]],
        "halves": [[0, -1.5, -0.5, 2.5, 3.5], [1, 0.5, 1.5, 6.5, 4.5]],
        "none": [],
    }
    return {kind: torch.tensor(some, dtype=torch.float64).view(-1, 5) for kind, some in boxes.items()}


def align() -> Iterator[Args]:
    for some, (scale, bins), ratio, aligned in itertools.product(
        rois().values(), [(1.0, (3, 2)), (0.3, (1, 1)), (1.0, (2, 4))], [0, -1, 2], [False, True]
    ):
        yield _grad(some, 4, bins), some, scale, *bins, IMAGES, 4, HEIGHT, WIDTH, ratio, aligned


def ps_align() -> Iterator[Args]:
    for some, (scale, bins), ratio in itertools.product(
        rois().values(), [(1.0, (3, 2)), (0.3, (1, 1))], [0, -1, 2]
    ):
        mapping, channels = _mapping(len(some), 2, bins)
        grad = _grad(some, 2, bins)
        yield grad, some, mapping, scale, *bins, ratio, IMAGES, channels, HEIGHT, WIDTH


def pool() -> Iterator[Args]:
    for some, (scale, bins) in itertools.product(
        rois().values(), [(1.0, (3, 2)), (0.3, (1, 1)), (1.0, (5, 5))]
    ):
        argmax = maxima(randn(IMAGES, 4, HEIGHT, WIDTH), some, scale, bins)
        yield _grad(some, 4, bins), some, argmax, scale, *bins, IMAGES, 4, HEIGHT, WIDTH


def ps_pool() -> Iterator[Args]:
    for some, (scale, bins) in itertools.product(
        rois().values(), [(1.0, (3, 2)), (0.3, (1, 1)), (1.0, (5, 5))]
    ):
        mapping, channels = _mapping(len(some), 2, bins)
        yield _grad(some, 2, bins), some, mapping, scale, *bins, IMAGES, channels, HEIGHT, WIDTH


def deform() -> Iterator[Args]:
    for (groups, offset_groups), use_mask, (kernel, *geometry), (count, reach) in itertools.product(
        [(1, 1), (2, 1), (1, 2), (2, 4)],
        [True, False],
        [((3, 2), (1, 1), (1, 0), (1, 1)), ((2, 3), (2, 1), (0, 2), (1, 2))],
        [(2, 0.7), (1, 6.0), (0, 1.0)],
    ):
        stride, pad, dilation = geometry
        sizes = (5, 6)
        outputs = [
            (sizes[dim] + 2 * pad[dim] - (dilation[dim] * (kernel[dim] - 1) + 1)) // stride[dim] + 1
            for dim in (0, 1)
        ]
        taken = kernel[0] * kernel[1] * offset_groups
        mask = randn(count, taken, *outputs) if use_mask else torch.zeros(count, 1, dtype=torch.float64)
        yield (
            *(randn(count, 6, *outputs), randn(count, 4, *sizes), randn(6, 4 // groups, *kernel)),
            *(randn(count, 2 * taken, *outputs) * reach, mask, randn(6)),
            *(*stride, *pad, *dilation, groups, offset_groups, use_mask),
        )


def _grad(some: torch.Tensor, channels: int, bins: tuple[int, int]) -> torch.Tensor:
    """Of the bins of regions: [K, channels, *bins]."""
    return randn(len(some), channels, *bins)


def _mapping(count: int, outputs: int, bins: tuple[int, int]) -> tuple[torch.Tensor, int]:
    """Which channel of the input each bin of [count, outputs, *bins] is of, and how many there are."""
    channels = outputs * bins[0] * bins[1]
    own = torch.arange(channels, dtype=torch.int32).view(1, outputs, *bins)
    return own.repeat(count, 1, 1, 1), channels


CASES: dict[str, Callable[[], Iterator[Args]]] = {
    "_roi_align_backward": align,
    "_ps_roi_align_backward": ps_align,
    "_roi_pool_backward": pool,
    "_ps_roi_pool_backward": ps_pool,
    "_deform_conv2d_backward": deform,
}


# --- forward passes --------------------------------------------------------------------------------


def shares(place: torch.Tensor, size: int) -> torch.Tensor:
    """[..., size]: how much linear samples at places take of each cell; one on a cell leans to the next."""
    place = place.unsqueeze(-1)
    cell, low = torch.arange(size), place.detach().floor()
    return torch.where(cell == low, low + 1 - place, torch.where(cell == low + 1, place - low, 0.0))


def clamped_shares(place: float, size: int) -> torch.Tensor:
    """As roi_align samples: the border goes on for one cell, then there is nothing."""
    if not -1 <= place <= size:
        return torch.zeros(size, dtype=torch.float64)
    return shares(torch.tensor(place, dtype=torch.float64).clamp(0, size - 1), size)


def sampled(
    start: torch.Tensor, end: torch.Tensor, bins: int, ratio: int, aligned: bool
) -> list[list[float]]:
    """Where each bin of a region is sampled along one dimension, in the dtype of the region."""
    length = end - start if aligned else (end - start).clamp(min=1)
    size = length / bins
    count = ratio if ratio > 0 else math.ceil(size)
    return [
        [float(start + bin * size + (n + 0.5) * size / count) for n in range(count)] for bin in range(bins)
    ]


def naive_roi_align(
    x: torch.Tensor, rois: torch.Tensor, scale: float, bins: tuple[int, int], ratio: int, aligned: bool
) -> torch.Tensor:
    """[K, C, *bins]."""
    pooled = x.new_zeros((len(rois), x.shape[1], *bins))
    for k, roi in enumerate(rois):
        left, top, right, bottom = roi[1:] * roi.new_tensor(scale) - (0.5 if aligned else 0)
        ys = sampled(top, bottom, bins[0], ratio, aligned)
        xs = sampled(left, right, bins[1], ratio, aligned)
        for row, column in itertools.product(range(bins[0]), range(bins[1])):
            if ys[row] and xs[column]:
                high = torch.stack([clamped_shares(y, x.shape[2]) for y in ys[row]]).mean(0)
                wide = torch.stack([clamped_shares(x_, x.shape[3]) for x_ in xs[column]]).mean(0)
                pooled[k, :, row, column] = torch.einsum("h,chw,w->c", high, x[int(roi[0])], wide)
    return pooled


def away(value: torch.Tensor) -> int:
    """The nearest integer, of two the one away from zero."""
    return int(math.copysign(math.floor(abs(float(value)) + 0.5), float(value)))


def spans(start: int, length: int, bins: int, cells: int, dtype: torch.dtype) -> list[range]:
    """The cells of each bin along one dimension."""
    size = torch.tensor(max(length, 1), dtype=dtype) / bins
    ends = [(math.floor(bin * size), math.ceil((bin + 1) * size)) for bin in range(bins)]
    return [range(*(min(max(start + end, 0), cells) for end in pair)) for pair in ends]


def regions(
    x: torch.Tensor, roi: torch.Tensor, scale: float, bins: tuple[int, int], last: int
) -> Iterator[tuple[int, int, range, range]]:
    """Each bin of a region, and its rows and columns; `last` is 1 where the last cell is the region's own."""
    left, top, right, bottom = map(away, roi[1:] * roi.new_tensor(scale))
    rows = spans(top, bottom - top + last, bins[0], x.shape[2], roi.dtype)
    columns = spans(left, right - left + last, bins[1], x.shape[3], roi.dtype)
    for row, column in itertools.product(range(bins[0]), range(bins[1])):
        yield row, column, rows[row], columns[column]


def maxima(x: torch.Tensor, rois: torch.Tensor, scale: float, bins: tuple[int, int]) -> torch.Tensor:
    """int32[K, C, *bins]: where in its plane each bin has its maximum; -1 for an empty bin."""
    argmax = torch.full((len(rois), x.shape[1], *bins), -1, dtype=torch.int32)
    for k, roi in enumerate(rois):
        for row, column, high, wide in regions(x, roi, scale, bins, 1):
            places = [y * x.shape[3] + x_ for y in high for x_ in wide]
            for c, plane in enumerate(x[int(roi[0])].flatten(1)):
                if places:
                    argmax[k, c, row, column] = places[int(plane[places].argmax())]
    return argmax


def naive_ps_roi_pool(
    x: torch.Tensor, rois: torch.Tensor, scale: float, bins: tuple[int, int]
) -> torch.Tensor:
    """The means [K, C / bins, *bins], each of a channel of its own; 0 for an empty bin."""
    own = x.view(x.shape[0], -1, *bins, *x.shape[2:])
    pooled = x.new_zeros((len(rois), *own.shape[1:4]))
    for k, roi in enumerate(rois):
        for row, column, high, wide in regions(x, roi, scale, bins, 0):
            if high and wide:
                plane = own[int(roi[0]), :, row, column]
                cells = plane[:, high.start : high.stop, wide.start : wide.stop]
                pooled[k, :, row, column] = cells.mean((1, 2))
    return pooled


def naive_deform_conv2d(
    x: torch.Tensor,
    weight: torch.Tensor,
    mask: torch.Tensor,
    bias: torch.Tensor,
    places: torch.Tensor,
    groups: int,
) -> torch.Tensor:
    """[N, O, *outputs], sums over all cells, for places [N, offset_groups, kernel, 2, *outputs]."""
    count, offset_groups, kernel, _, *outputs = places.shape
    planes = x.view(count, offset_groups, x.shape[1] // offset_groups, *x.shape[2:])
    rows, columns = (shares(places[:, :, :, dim], x.shape[2 + dim]) for dim in (0, 1))
    read = torch.einsum("ngkijh,ngchw,ngkijw->ngckij", rows, planes, columns)
    read = read * mask.view(count, offset_groups, 1, kernel, *outputs)
    read = read.reshape(count, groups, x.shape[1] // groups, kernel, *outputs)
    matrix = weight.view(groups, weight.shape[0] // groups, -1, kernel)
    out = torch.einsum("gock,ngckij->ngoij", matrix, read)
    return out.reshape(count, weight.shape[0], *outputs) + bias.view(-1, 1, 1)


# --- what the backward operations should give ------------------------------------------------------


def _pooled(forward: Callable[..., torch.Tensor], grad: torch.Tensor, shape: Args, *given: Any) -> Gradients:
    x = randn(*shape).requires_grad_()
    pooled = forward(x, *given) + 0 * x.sum()  # which depends on x also where there is no region
    return [torch.autograd.grad(pooled, x, grad.double())[0]]


def of_align(grad, rois, scale, rows, columns, *rest) -> Gradients:
    *shape, ratio, aligned = rest
    return _pooled(naive_roi_align, grad, shape, rois, scale, (rows, columns), ratio, aligned)


def of_ps_align(grad, rois, mapping, scale, rows, columns, ratio, *shape) -> Gradients:
    def forward(x, *given):
        return naive_roi_align(x, *given).gather(1, mapping.long())

    return _pooled(forward, grad, shape, rois, scale, (rows, columns), ratio, True)


def of_pool(grad, rois, argmax, scale, rows, columns, *shape) -> Gradients:
    def forward(x):
        flat = x.flatten(2)[rois[:, 0].long()]
        read = flat.gather(2, argmax.long().clamp(min=0).flatten(2)).view(argmax.shape)
        return read.masked_fill(argmax == -1, 0)

    return _pooled(forward, grad, shape)


def of_ps_pool(grad, rois, mapping, scale, rows, columns, *shape) -> Gradients:
    return _pooled(naive_ps_roi_pool, grad, shape, rois, scale, (rows, columns))


def of_deform(grad, x, weight, offset, mask, bias, *geometry) -> Gradients:
    *steps, groups, offset_groups, use_mask = geometry
    leaves = [t.double().clone().requires_grad_() for t in (x, weight, offset, mask, bias)]
    kernel, outputs = weight.shape[2:], grad.shape[2:]
    shape = (x.shape[0], offset_groups, *kernel, 2, *outputs)
    base = torch.zeros(shape[2:], dtype=torch.int64)
    for i, j, row, column in itertools.product(*map(range, (*kernel, *outputs))):
        base[i, j, 0, row, column] = row * steps[0] - steps[2] + i * steps[4]
        base[i, j, 1, row, column] = column * steps[1] - steps[3] + j * steps[5]
    rounded = (offset.view(shape) + base).double()
    places = rounded + (leaves[2] - leaves[2].detach()).view(shape)  # the value is rounded, not the gradient
    places = places.view(*shape[:2], kernel.numel(), 2, *outputs)
    weights = leaves[3]
    if not use_mask:
        weights = torch.ones(x.shape[0], offset_groups * kernel.numel(), *outputs, dtype=torch.float64)
    out = naive_deform_conv2d(leaves[0], leaves[1], weights, leaves[4], places, groups)
    return list(torch.autograd.grad(out, leaves, grad.double(), materialize_grads=True))


REFERENCES: dict[str, Callable[..., Gradients]] = {
    "_roi_align_backward": of_align,
    "_ps_roi_align_backward": of_ps_align,
    "_roi_pool_backward": of_pool,
    "_ps_roi_pool_backward": of_ps_pool,
    "_deform_conv2d_backward": of_deform,
}
