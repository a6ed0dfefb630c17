"""Backward passes of linear, bilinear, bicubic and trilinear interpolation, also antialiased.

The forward pass is separable: each output is a weighted sum of a few neighbours in each dimension. Each
input gathers from the outputs that it fed, one dimension after the other, with the very weights of the
forward pass.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import torch

from samerun.ops.engines.bands import Band, build_band, gather, sum_dtype
from samerun.ops.engines.formats import suggest_format
from samerun.ops.engines.resampling import Resampling
from samerun.ops.example_inputs import draw_normal
from samerun.ops.implementation import Implementation

Taps = Callable[[Resampling], tuple[torch.Tensor, torch.Tensor, torch.Tensor]]


def backward(
    taps: Taps,
    grad_output: torch.Tensor,
    output_size: Sequence[int],
    input_size: Sequence[int],
    align_corners: bool,
    *scales: float | None,
) -> torch.Tensor:
    """The gradient of the input [N, C, *dims], from grad_output [N, C, *output_size]."""
    wanted = [*input_size[:2], *output_size]
    if list(grad_output.shape) != wanted:
        at = next((i for i, (a, b) in enumerate(zip(grad_output.shape, wanted, strict=False)) if a != b), 0)
        raise RuntimeError(
            "Expected grad_output to have the same shape as output; "
            f"output.size({at}) = {wanted[at]} but got grad_output.size({at}) = {grad_output.shape[at]}"
        )
    if wanted == list(input_size) and taps not in (_resample_smooth_linear, _resample_smooth_cubic):
        return grad_output.clone(memory_format=_format(taps, grad_output))
    given = [*scales, *[None] * (len(output_size) - len(scales))]
    geometry = zip(input_size[2:], output_size, given, strict=True)
    by_dimension = grad_output.device.type == "cpu"  # torch copies a dimension; on CUDA only the whole
    bands = [
        _build_band(
            taps,
            Resampling(i, o, align_corners, s, sum_dtype(grad_output), by_dimension and i == o),
            grad_output.device,
        )
        for i, o, s in geometry
    ]
    return gather(grad_output, bands).contiguous(memory_format=_format(taps, grad_output))


def _format(taps: Taps, grad_output: torch.Tensor) -> torch.memory_format:
    """Only the linear ones keep channels last."""
    return (
        suggest_format(grad_output)
        if taps in (_resample_linear, _resample_smooth_linear)
        else torch.contiguous_format
    )


@functools.lru_cache(maxsize=256)
def _build_band(taps: Taps, one: Resampling, device: torch.device) -> Band:
    with torch.inference_mode(False):
        outputs, inputs, weights = taps(one)
        return build_band(outputs, inputs, one.inputs, device, weights)


def _resample_linear(one: Resampling) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return one.linear()


def _resample_cubic(one: Resampling) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return one.cubic()


def _resample_smooth_linear(one: Resampling) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return one.antialiased(2, lambda x: (1 - x).clamp(min=0))


def _resample_smooth_cubic(one: Resampling) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    def keys(x: torch.Tensor) -> torch.Tensor:
        near = ((-0.5 + 2) * x - (-0.5 + 3)) * x * x + 1
        far = (((x - 5) * x + 8) * x - 4) * -0.5
        return torch.where(x < 1, near, torch.where(x < 2, far, torch.zeros_like(x)))

    return one.antialiased(4, keys)


def _make_implementation(name: str, dims: int, taps: Taps, alert: str) -> Implementation:
    def example(device: torch.device) -> tuple[object, ...]:
        sizes = {1: [200], 2: [48, 48], 3: [10, 20, 20]}[dims]
        outputs = [math.floor(size * 1.7) for size in sizes]
        grad = draw_normal((4, 16, *outputs), device)
        return grad, outputs, [4, 16, *sizes], False, *[None] * dims

    return Implementation(
        name=name,
        kernels={name: functools.partial(backward, taps)},
        example=example,
        why="outputs add to the inputs that they were interpolated from, atomically",
        how="each input gathers from the outputs that it fed, dimension by dimension, in ascending order",
        source="https://github.com/pytorch/pytorch/pull/197714 and tensorflow#39243, which gather too",
        cost="as many reads as the forward pass has taps in each dimension",
        alerts=(alert,),
    )


IMPLEMENTATIONS = (
    _make_implementation(
        "upsample_linear1d_backward", 1, _resample_linear, "upsample_linear1d_backward_out_cuda"
    ),
    _make_implementation(
        "upsample_bilinear2d_backward", 2, _resample_linear, "upsample_bilinear2d_backward_out_cuda"
    ),
    _make_implementation(
        "upsample_trilinear3d_backward", 3, _resample_linear, "upsample_trilinear3d_backward_out_cuda"
    ),
    _make_implementation(
        "upsample_bicubic2d_backward", 2, _resample_cubic, "upsample_bicubic2d_backward_out_cuda"
    ),
    _make_implementation(
        "_upsample_bilinear2d_aa_backward",
        2,
        _resample_smooth_linear,
        "upsample_bilinear2d_aa_backward_out_cuda",
    ),
    _make_implementation(
        "_upsample_bicubic2d_aa_backward",
        2,
        _resample_smooth_cubic,
        "upsample_bicubic2d_aa_backward_out_cuda",
    ),
)
