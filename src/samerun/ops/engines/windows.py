"""Where the windows of a pooling lie, along one dimension."""

from __future__ import annotations

import functools

import torch

from samerun.ops.engines.bands import Band, build_band


@functools.lru_cache(maxsize=256)
def build_sliding(
    inputs: int, outputs: int, kernel: int, stride: int, padding: int, dilation: int, device: torch.device
) -> Band:
    """Output o reads the inputs o * stride - padding + k * dilation, k < kernel, that exist."""
    starts = torch.arange(outputs) * stride - padding
    reads = starts[:, None] + torch.arange(kernel) * dilation
    return _build_band(reads, (reads >= 0) & (reads < inputs), inputs, device)


@functools.lru_cache(maxsize=256)
def build_adaptive(inputs: int, outputs: int, device: torch.device) -> Band:
    """Output o reads the inputs from ⌊o·inputs/outputs⌋ to ⌈(o + 1)·inputs/outputs⌉."""
    starts, ends = compute_adaptive_bounds(inputs, outputs)
    longest = int((ends - starts).max()) if outputs else 0
    reads = starts[:, None] + torch.arange(longest)
    return _build_band(reads, reads < ends[:, None], inputs, device)


def compute_adaptive_bounds(inputs: int, outputs: int) -> tuple[torch.Tensor, torch.Tensor]:
    """First input of each output's window, and the one after its last: int64[outputs] each, on the CPU."""
    o = torch.arange(outputs)
    return o * inputs // outputs, ((o + 1) * inputs + outputs - 1) // outputs


def _build_band(reads: torch.Tensor, inside: torch.Tensor, inputs: int, device: torch.device) -> Band:
    outputs = torch.arange(reads.shape[0])[:, None].expand_as(reads)
    return build_band(outputs[inside], reads[inside], inputs, device)
