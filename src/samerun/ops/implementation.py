"""The one interface of the catalogue of operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

Kernel = Callable[..., Any]


@dataclass(frozen=True)
class Implementation:
    """One operation of torch, or of torchvision, that samerun computes in a fixed order.

    A kernel has the arguments of the overload that it is for, as torch's schema has them, and gives what
    that gives. The variants with `out=` and those in place follow from it (see samerun.ops.torch_hooks.out_variants).
    """

    name: str  # of the operation, as torch.ops.aten has it, or the namespace below
    kernels: Mapping[str, Kernel]  # overload, e.g. "index_reduce" or "scatter_reduce.two" → what computes it
    example: Callable[[torch.device], tuple[Any, ...]]  # arguments of the first overload, with collisions
    why: str  # what makes torch's own differ from run to run
    how: str  # the formulation
    source: str  # where the formulation is from
    cost: str  # of the formulation; nothing in it is a measurement
    devices: tuple[str, ...] = ("CUDA",)  # the dispatch keys where torch's own differs
    alerts: tuple[str, ...] = ()  # the names under which torch refuses it when it must be deterministic
    namespace: str = "aten"  # of torch.ops; another is the name of the library that brings it
    options: Mapping[str, Any] = field(default_factory=dict)  # keyword arguments of the example
