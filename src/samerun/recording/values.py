"""A sample of the weights themselves, now and then: digests say that two runs differ, not by how much."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Sequence

import torch

from samerun.runs.plan import Plan

_MOST = 65_536  # elements of one group
_EACH = 8  # after each of the first steps, then after every √2-fold one
_INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}


def are_due(plan: Plan, step: int) -> bool:
    """Whether the weights are sampled after this step."""
    if not plan.values:
        return False
    return step < _EACH or step in _later() or (plan.window is not None and step in plan.window)


@functools.cache
def _later() -> frozenset[int]:
    return frozenset(math.isqrt(2**power) for power in range(2 * _EACH.bit_length() - 2, 62))


def sampled(tensors: Sequence[torch.Tensor]) -> tuple[bytes, str] | None:
    """(elements at fixed positions of the tensors, one after the other, as raw bytes; what they are as JSON).

    Of tensors of the first one's dtype. None when that is no floating-point type, or they have no memory.
    """
    dtype = tensors[0].dtype if tensors else None
    if dtype is None or not dtype.is_floating_point or dtype.itemsize not in _INTEGERS:
        return None
    alike = [each for each in tensors if each.dtype == dtype]
    every = sum(each.numel() for each in alike)
    stride = max(-(-every // _MOST), 1)
    pieces, position = [], 0
    try:
        for each in alike:
            flat = each.detach().reshape(-1)
            pieces.append(flat[-position % stride :: stride].cpu())
            position += flat.numel()
        raw = torch.cat(pieces).view(_INTEGERS[dtype.itemsize]).numpy().tobytes()
    except RuntimeError:  # sparse, sharded or without memory
        return None
    said = {"elements": len(raw) // dtype.itemsize, "of": every, "dtype": str(dtype).partition(".")[2]}
    return raw, json.dumps(said)
