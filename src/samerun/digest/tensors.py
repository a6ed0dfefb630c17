"""Digests of tensors of every kind and on every device."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from samerun.digest.host import digest_dense, digest_strided
from samerun.digest.keyed import combine
from samerun.digest.layouts import walk
from samerun.digest.unobserved import hide_ops
from samerun.digest.values import name_type
from samerun.errors import DigestError


def digest_tensor(t: torch.Tensor) -> bytes:
    """16 bytes that stand for the tensor's dtype, shape and bytes in logical order, whatever its strides.

    The tensor, its version counter, its graph and all random generators stay as they are. Waits for the
    device when the tensor is not on the CPU; `samerun.digest.device.DeviceSlots` digests many and waits once.
    Raises DigestError for a tensor that has no bytes (meta, fake, lazy, inside a function transform, freed).
    """
    return digest_dense(t)


def digest_any(t: torch.Tensor) -> bytes:
    """As `digest_tensor`, without the fast path for plain tensors."""
    if not isinstance(t, torch.Tensor):
        raise DigestError(
            f"expected a tensor, got {name_type(type(t))}. For other values use samerun.digest.digest_value."
        )
    with hide_ops():
        if torch.nn.parameter.is_lazy(t) or t.device.type in ("cpu", "meta"):
            return walk(t, _digest_leaf, _join)
        return _digest_on_device(t)


def _digest_leaf(t: torch.Tensor) -> bytes:
    return digest_strided(t) if t.is_cpu else _digest_on_device(t)


def _digest_on_device(t: torch.Tensor) -> bytes:
    from samerun.digest.device import DeviceSlots

    slots = DeviceSlots(t.device, capacity=4)
    slots.add(t)
    return slots.read()[0]


def _join(key: str, parts: Sequence[bytes]) -> bytes:
    return combine(parts, key)
