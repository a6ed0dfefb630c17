"""Digests of what a hook sees: at once for host memory, later for a device's."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from samerun import digest
from samerun.digest.alike import Alike
from samerun.digest.device import DeviceSlots
from samerun.digest.host import digest_dense
from samerun.errors import DigestError

is_on_host = operator.attrgetter("is_cpu")
NOTHING = bytes(16)  # stands for a tensor that is not there (no gradient yet)
FINGERPRINT = bytes.fromhex("ff" * 16)  # stands for one without bytes (a meta or fake tensor)
_MOST_OTHER = 8  # times that the tensors of a group may be others than before


class Slot:
    """A digest that the device has not handed over yet."""

    __slots__ = ("device", "index", "value")

    def __init__(self, device: torch.device, index: int) -> None:
        self.device = device
        self.index = index
        self.value: bytes | None = None


class Tensors:
    """Digests tensors without ever making the host wait for a device, until `settle`."""

    def __init__(self) -> None:
        self._slots: dict[torch.device, DeviceSlots] = {}
        self.waiting: list[Slot] = []  # still to be filled
        self._alike: dict[str, Alike | None] = {}
        self._others: Counter[str] = Counter()
        self.kinds: set[str] = set()  # the kinds of device, besides the host, that were digested

    def digest(self, tensor: torch.Tensor) -> bytes | Slot:
        """The digest of one tensor, or a slot that `settle` will fill.

        A tensor without bytes (meta, fake) gets a mark of its own instead of an error.
        """
        if is_on_host(tensor):
            try:
                return digest_dense(tensor)
            except DigestError:
                return FINGERPRINT
        if tensor.device.type == "meta":
            return FINGERPRINT
        try:
            slots = self._slots.get(tensor.device)
            if slots is None:
                slots = self._slots[tensor.device] = DeviceSlots(tensor.device)
                self.kinds.add(tensor.device.type)
            slot = Slot(tensor.device, slots.add(tensor))
        except DigestError:
            return FINGERPRINT
        self.waiting.append(slot)
        return slot

    def group(self, name: str, tensors: Sequence[torch.Tensor | None]) -> Sequence[bytes | Slot]:
        """The digests of a group that is digested again and again; NOTHING for a tensor that is None."""
        alike = self._alike.get(name)
        digests = None if alike is None else alike.digest(tensors)
        if digests is not None:
            return digests
        if self._others[name] < _MOST_OTHER:
            self._others[name] += 1
            there = [tensor for tensor in tensors if tensor is not None and is_on_host(tensor)]
            self._alike[name] = Alike.of(there) if len(there) == len(tensors) else None
        return [NOTHING if tensor is None else self.digest(tensor) for tensor in tensors]

    def parts(self, value: Any) -> list[bytes | Slot]:
        """The digests of a batch or of a module's arguments, of whatever it holds."""
        if isinstance(value, torch.Tensor):
            return [self.digest(value)]
        found = list(tensors_of(value))
        if all(map(is_on_host, found)):
            return [digest.digest_value(value)]
        return [self.digest(tensor) for tensor in found]

    def settle(self) -> None:
        """Wait for the devices and fill every slot."""
        if not self.waiting:
            return
        read = {device: slots.read() for device, slots in self._slots.items()}
        for slot in self.waiting:
            slot.value = read[slot.device][slot.index]
        self.waiting.clear()


def tensors_of(value: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    """The tensors in a batch or in a module's arguments."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth < 8:
        if isinstance(value, Mapping):
            for item in value.values():
                yield from tensors_of(item, depth + 1)
        elif isinstance(value, (list, tuple)):
            for item in value:
                yield from tensors_of(item, depth + 1)
