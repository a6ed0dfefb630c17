"""nll_loss2d, the cross entropy of maps such as segmentations: its mean and its sum."""

from __future__ import annotations

import torch

from samerun.ops.engines.bands import convert_to_sum_dtype
from samerun.ops.engines.tree_sum import sum_all
from samerun.ops.example_inputs import draw_integers, draw_normal
from samerun.ops.implementation import Implementation

_NONE, _MEAN = 0, 1


def nll_loss2d_forward(
    self: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, reduction: int, ignore_index: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The loss of self [N, C, H, W] for classes [N, H, W], and the total of the weights."""
    _check(self, target, weight)
    ignored = target == ignore_index
    classes = target.masked_fill(ignored, 0)
    if self.device.type == "cpu" and classes.numel():
        low, high = classes.aminmax()
        if low < 0 or high >= self.shape[1]:
            raise IndexError(f"Target {int(low if low < 0 else high)} is out of bounds.")
    if not self.numel():
        return _reduce_nothing(self, target, reduction)
    values = convert_to_sum_dtype(self).gather(1, classes.unsqueeze(1)).squeeze(1)
    weights = None if weight is None else convert_to_sum_dtype(weight)[classes].masked_fill_(ignored, 0)
    losses = -values if weights is None else -values * weights
    losses = losses.masked_fill_(ignored, 0)
    if reduction == _NONE:
        return losses.to(self.dtype), self.new_zeros(())
    whole = sum_all((~ignored).to(losses.dtype) if weights is None else weights)
    loss = sum_all(losses)
    if reduction == _MEAN:
        loss = loss / whole
    return loss.to(self.dtype), whole.to(self.dtype)


def _reduce_nothing(
    self: torch.Tensor, target: torch.Tensor, reduction: int
) -> tuple[torch.Tensor, torch.Tensor]:
    if reduction == _NONE:
        return self.new_zeros(target.shape), self.new_zeros(())
    return self.new_full((), float("nan") if reduction == _MEAN else 0), self.new_zeros(())


def _check(self: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None) -> None:
    """Refuse what torch refuses, in its words."""
    if target.dim() != 3:
        raise RuntimeError(
            "only batches of spatial targets supported (3D tensors) but got targets of dimension: "
            f"{target.dim()}"
        )
    if self.dim() != 4:
        raise RuntimeError(
            f"only batches of spatial inputs supported (4D tensors), but got input of dimension: {self.dim()}"
        )
    if weight is not None and weight.numel() != self.shape[1]:
        raise RuntimeError("weight tensor should be defined either for all or no classes")
    if (self.shape[0], *self.shape[2:]) != tuple(target.shape):
        raise RuntimeError(f"size mismatch (got input: {list(self.shape)} , target: {list(target.shape)}")


IMPLEMENTATIONS = (
    Implementation(
        name="nll_loss2d_forward",
        kernels={"nll_loss2d_forward": nll_loss2d_forward},
        example=lambda device: (
            draw_normal((8, 21, 96, 96), device).log_softmax(1),
            draw_integers(21, (8, 96, 96), device),
            None,
            _MEAN,
            -100,
        ),
        why="blocks add their part of the loss to one number, atomically",
        how="the loss of each place, then one sum in a fixed order",
        source="nll_loss2d with reduction='none', and torch.sum",
        cost="one more pass over [N, H, W]",
        alerts=("nll_loss2d_forward_out_cuda_template",),
    ),
)
