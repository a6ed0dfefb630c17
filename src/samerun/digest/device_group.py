"""A group of tensors on a device that is digested again and again, such as a model's parameters.

To look at each tensor takes several microseconds; that all of them are as they were takes one call, and where
they lie another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from samerun.digest.device import DeviceSlots
from samerun.digest.host import function_mode_is_on
from samerun.digest.keyed import make_tensor_seed
from samerun.digest.room import room
from samerun.digest.same_layout import get_address, make_check, reach_their_ends


class DeviceGroup:
    """How to digest tensors of one device, as long as each is like the one that was at its place."""

    def __init__(
        self, slots: DeviceSlots, tensors: Sequence[torch.Tensor], check: Callable[..., bool]
    ) -> None:
        self._slots = slots
        self.device = slots.device
        self._check = check
        self._nbytes = [t.nbytes for t in tensors]
        self._itemsizes = [t.itemsize for t in tensors]
        self._seeds = [make_tensor_seed(t.dtype, t.shape) for t in tensors]
        self._small = [number for number, t in enumerate(tensors) if slots.is_small(t)]
        small = set(self._small)
        self._others = [number for number in range(len(tensors)) if number not in small]

    @classmethod
    def of(cls, slots: DeviceSlots, tensors: Sequence[torch.Tensor]) -> DeviceGroup | None:
        """None when one of the tensors is not plain and contiguous on the device of the slots."""
        if not slots.takes_many or any(t.device != slots.device for t in tensors):
            return None
        check = make_check(tensors, slots.device.type)
        return None if check is None else cls(slots, tensors, check)

    def add(self, tensors: Sequence[Any]) -> list[int] | None:
        """As `DeviceSlots.add_all`; None when a tensor is not what it was, or has no memory."""
        if len(tensors) != len(self._seeds) or function_mode_is_on() or not self._check(*tensors):
            return None
        if room.must_be_asked and not reach_their_ends(tensors, self._nbytes, self._itemsizes):
            return None
        starts = list(map(get_address, tensors))
        if 0 in starts or any(starts[number] % 8 for number in self._small):
            return None
        entries = [(starts[number], self._nbytes[number], self._seeds[number]) for number in self._small]
        rows = self._slots.add_entries(entries)
        if rows is None:
            return None
        if not self._others:
            return rows
        found = dict(zip(self._small, rows, strict=True))
        found.update((number, self._slots.add(tensors[number])) for number in self._others)
        return [found[number] for number in range(len(tensors))]
