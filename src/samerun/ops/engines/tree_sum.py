"""The sum of all values of a tensor, in an order that its shape alone gives."""

from __future__ import annotations

import torch


def sum_all(t: torch.Tensor) -> torch.Tensor:
    """The sum of the values, as a tensor without dimensions.

    On CUDA torch's own, which repeats itself. On the CPU its order depends on the number of threads: there
    the halves of the values are added to each other until one is left, in about two passes.
    """
    if t.device.type != "cpu":
        return t.sum()
    t = t.reshape(-1)
    while t.numel() > 1:
        half = t.numel() // 2
        pairs = t[:half] + t[half : 2 * half]
        if t.numel() % 2:
            pairs[0] += t[-1]
        t = pairs
    return t.sum()  # of one value, or of none
