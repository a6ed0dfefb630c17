"""Inputs for the examples of the implementations: the same on every call, made on the CPU."""

from __future__ import annotations

import torch


def normal(shape: tuple[int, ...], device: torch.device, seed: int = 0) -> torch.Tensor:
    """float32 of a normal distribution."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(device)


def integers(high: int, shape: tuple[int, ...], device: torch.device, seed: int = 1) -> torch.Tensor:
    """int64 below `high`."""
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(seed)).to(device)
