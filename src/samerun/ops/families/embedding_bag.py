"""Backward pass of embedding_bag with mode="max": each maximum adds up the gradients of its bags."""

from __future__ import annotations

from typing import Any

import torch

from samerun.ops.engines import segments
from samerun.ops.example_inputs import draw_integers, draw_normal
from samerun.ops.implementation import Implementation
from samerun.ops.torch_hooks import original_kernels

_MAX = 2


def embedding_bag_dense_backward(
    grad: torch.Tensor,
    indices: torch.Tensor,
    offset2bag: torch.Tensor,
    bag_size: torch.Tensor,
    maximum_indices: torch.Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    per_sample_weights: torch.Tensor | None,
    padding_idx: int = -1,
) -> torch.Tensor:
    """The gradient of the weights [num_weights, D], from grad [bags, D]; other modes are torch's own."""
    if mode != _MAX:
        result: torch.Tensor = original_kernels.call(
            "_embedding_bag_dense_backward",
            grad.device,
            grad,
            indices,
            offset2bag,
            bag_size,
            maximum_indices,
            num_weights,
            scale_grad_by_freq,
            mode,
            per_sample_weights,
            padding_idx,
        )
        return result
    width = grad.shape[1]
    rows = maximum_indices.long()
    keys = rows * width + torch.arange(width, device=grad.device)
    # A bag without entries has no maximum: its gradients are left out.
    keys.masked_fill_((rows < 0) | (bag_size == 0).view(-1, 1), num_weights * width)
    sums = segments.add(keys.reshape(-1), grad.reshape(-1), num_weights * width)
    return sums.view(num_weights, width).to(grad.dtype)


def _make_example(device: torch.device) -> tuple[Any, ...]:
    weights, indices = draw_normal((200, 32), device), draw_integers(200, (20_000,), device)
    offsets = torch.arange(0, 20_000, 10, device=device)
    output, bags, sizes, maxima = torch.ops.aten._embedding_bag(weights, indices, offsets, False, _MAX)
    grad = draw_normal(tuple(output.shape), device, 2)
    return grad, indices, bags, sizes, maxima, 200, False, _MAX, None


IMPLEMENTATIONS = (
    Implementation(
        name="_embedding_bag_dense_backward",
        kernels={"_embedding_bag_dense_backward": embedding_bag_dense_backward},
        example=_make_example,
        why="bags with the same maximum add to it atomically",
        how="stable sort by row and column, then a balanced tree over the gradients of each",
        source="samerun.ops.engines.segments",
        cost="that of a sort of as many keys as grad has elements",
        alerts=("embedding_bag_backward_cuda_max",),
    ),
)
