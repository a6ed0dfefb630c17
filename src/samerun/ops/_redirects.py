"""torch's detours in Python, which deterministic mode takes before any kernel is asked for.

`F.interpolate` and `F.pad` compute what has no deterministic kernel by slow decompositions, with other
bits in the forward pass. Where samerun has the kernel, the straight way is taken again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_LINEAR = {1: "upsample_linear1d", 2: "upsample_bilinear2d", 3: "upsample_trilinear3d"}


def direct(names: frozenset[str]) -> Callable[[], None]:
    """Take the straight way to the operations of these names; return what undoes it."""
    # torch._decomp takes a second to import; where nothing needs it here, nothing is redirected either.
    straight: dict[str, Any] = {}
    if "upsample_bilinear2d_backward" in names:
        straight["_upsample_linear_vec"] = _upsample_linear
    if "replication_pad2d_backward" in names:
        straight["_replication_pad"] = _replication_pad
    if not straight:
        return lambda: None
    import torch._decomp.decompositions as decompositions

    module: Any = decompositions
    before = {name: getattr(module, name) for name in straight}
    for name, function in straight.items():
        setattr(module, name, function)

    def undo() -> None:
        for name, function in before.items():
            if getattr(module, name) is straight[name]:
                setattr(module, name, function)

    return undo


def _upsample_linear(
    input: torch.Tensor, output_size: Any, align_corners: bool, scale_factors: Any
) -> torch.Tensor:
    upsample = getattr(torch._C._nn, _LINEAR[input.dim() - 2])
    result: torch.Tensor = upsample(input, output_size, align_corners, scale_factors)
    return result


def _replication_pad(input: torch.Tensor, pad: Any) -> torch.Tensor:
    result: torch.Tensor = torch._C._nn.pad(input, pad, "replicate", None)
    return result
