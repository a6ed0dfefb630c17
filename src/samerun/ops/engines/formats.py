"""The layout in memory that a gradient has."""

from __future__ import annotations

import torch


def format_like(grad: torch.Tensor, self: torch.Tensor) -> torch.Tensor:
    """The gradient in the memory format of what it is the gradient of: channels last, or contiguous."""
    return grad.contiguous(memory_format=suggest_format(self))


def suggest_format(t: torch.Tensor) -> torch.memory_format:
    """What torch's own kernels take a tensor to be laid out as."""
    if t.dim() == 4 and not t.is_contiguous() and t.is_contiguous(memory_format=torch.channels_last):
        return torch.channels_last
    if t.dim() == 5 and not t.is_contiguous() and t.is_contiguous(memory_format=torch.channels_last_3d):
        return torch.channels_last_3d
    return torch.contiguous_format
