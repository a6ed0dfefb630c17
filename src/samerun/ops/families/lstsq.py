"""Least squares on the CPU: LAPACK's routine is given memory that nothing has written.

`gelsy`, the driver that torch takes on the CPU, reads its argument JPVT: a column with another number than 0
there is not permuted, so that both bits and rank depend on what the memory held. Torch makes it with
`at::empty` (aten/src/ATen/native/BatchLinearAlgebra.cpp).
https://netlib.org/lapack/explore-html/d5/d0e/group__gelsy.html
"""

from __future__ import annotations

from typing import Any

import torch

from samerun.cleared_memory import clear_meanwhile
from samerun.ops.example_inputs import draw_normal
from samerun.ops.implementation import Implementation
from samerun.ops.torch_hooks import original_kernels


def linalg_lstsq(
    self: torch.Tensor, b: torch.Tensor, rcond: float | None = None, *, driver: str | None = None
) -> Any:
    """What torch's own kernel gives where all columns may be permuted, as LAPACK calls it."""
    real = torch.empty((), dtype=self.dtype).real.dtype
    outs = {name: self.new_empty(0) for name in ("solution", "residuals")}
    outs["residuals"] = outs["residuals"].to(real)
    outs["rank"] = self.new_empty(0, dtype=torch.int64)
    outs["singular_values"] = self.new_empty(0, dtype=real)
    with clear_meanwhile():
        return original_kernels.call("linalg_lstsq.out", self.device, self, b, rcond, driver=driver, **outs)


def _make_example(device: torch.device) -> tuple[Any, ...]:
    return draw_normal((64, 12, 8), device, 1), draw_normal((64, 12, 16), device, 2)


IMPLEMENTATIONS = (
    Implementation(
        name="linalg_lstsq",
        kernels={"linalg_lstsq": linalg_lstsq},
        example=_make_example,
        why="LAPACK's gelsy reads which columns it may permute from memory that nothing has written",
        how="torch's own, in memory that the C library hands out as zeros",
        source="LAPACK's gelsy, whose JPVT is 0 for a column that may be permuted",
        cost="that of torch's own",
        devices=("CPU",),
    ),
)
