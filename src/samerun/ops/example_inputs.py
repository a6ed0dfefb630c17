"""Inputs for the examples of the implementations: the same on every call, made on the CPU."""

from __future__ import annotations

import torch


def draw_normal(shape: tuple[int, ...], device: torch.device, seed: int = 0) -> torch.Tensor:
    """float32 of a normal distribution."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(device)


def draw_integers(high: int, shape: tuple[int, ...], device: torch.device, seed: int = 1) -> torch.Tensor:
    """int64 below `high`."""
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(seed)).to(device)


def draw_regions(count: int, images: int, size: int, device: torch.device) -> torch.Tensor:
    """float32[count, 5] of overlapping regions within a square: image, left, top, right, bottom."""
    corners = torch.rand((count, 2, 2), generator=torch.Generator().manual_seed(2)).sort(1).values * size
    image = torch.arange(count) % images
    return torch.cat([image.unsqueeze(1), corners.view(count, 4)], 1).to(device)


def number_channels(count: int, channels: int, bins: int, device: torch.device) -> torch.Tensor:
    """int32[count, channels, bins, bins]: the channel of the input that a bin of a region reads."""
    own = torch.arange(channels * bins * bins, dtype=torch.int32).view(1, channels, bins, bins)
    return own.repeat(count, 1, 1, 1).to(device)
