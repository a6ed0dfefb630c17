"""median and nanmedian along a dimension: of equal medians, the first."""

from __future__ import annotations

import torch

from samerun.ops.argument_checks import check_dim
from samerun.ops.example_inputs import draw_integers
from samerun.ops.implementation import Implementation


def median(self: torch.Tensor, dim: int, keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """The lower median along a dimension and where it first is; a NaN, if there is one, is the median."""
    if self.dim() == 0:
        return self.clone(), torch.zeros_like(self, dtype=torch.int64)
    dim = _check(self, dim)
    middle = (self.shape[dim] + 1) // 2
    values = self.kthvalue(middle, dim, keepdim=True).values
    found = self == values
    if self.is_floating_point():
        missing = self.isnan()
        any_missing = missing.any(dim, keepdim=True)
        values = values.masked_fill(any_missing, float("nan"))
        found = torch.where(any_missing, missing, found)
    return _find_first(values, found, dim, keepdim)


def nanmedian(self: torch.Tensor, dim: int, keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """The lower median of what is a number along a dimension, and where it first is."""
    if self.dim() == 0:
        return self.clone(), torch.zeros_like(self, dtype=torch.int64)
    if not self.is_floating_point():
        return median(self, dim, keepdim)
    dim = _check(self, dim)
    missing = self.isnan()
    numbers = self.shape[dim] - missing.sum(dim, keepdim=True)
    middle = ((numbers - 1) // 2).clamp_(min=0)
    values = self.sort(dim).values.gather(dim, middle)  # NaN comes last
    return _find_first(values, torch.where(numbers == 0, missing, self == values), dim, keepdim)


def _find_first(
    values: torch.Tensor, found: torch.Tensor, dim: int, keepdim: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    at = found.to(torch.uint8).argmax(dim, keepdim=True)
    return (values, at) if keepdim else (values.squeeze(dim), at.squeeze(dim))


def _check(self: torch.Tensor, dim: int) -> int:
    check_dim(dim, self.dim())
    if not self.shape[dim]:
        raise IndexError(f"median(): Expected reduction dim {dim} to have non-zero size.")
    return dim % self.dim()


def _make_example(device: torch.device) -> tuple[torch.Tensor, int]:
    return draw_integers(50, (600, 501), device).float(), 1


_WHY = "of several equal medians, the index of whichever a thread finds first"

IMPLEMENTATIONS = (
    Implementation(
        name="median",
        kernels={"median.dim": median},
        example=_make_example,
        why=_WHY,
        how="kthvalue, then the first place that equals it",
        source="https://github.com/pytorch/pytorch/pull/165762 (kthvalue repeats itself)",
        cost="two passes more than torch's own",
        alerts=("median CUDA with indices output",),
    ),
    Implementation(
        name="nanmedian",
        kernels={"nanmedian.dim": nanmedian},
        example=_make_example,
        why=_WHY,
        how="a sort, in which NaN comes last, then the first place that equals the middle one",
        source="the definition",
        cost="that of a sort",
        alerts=("median CUDA with indices output",),
    ),
)
