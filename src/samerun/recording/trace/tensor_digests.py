"""Digests of what a hook sees: at once for host memory, later for a device's."""

from __future__ import annotations

from collections import Counter, UserDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch

from samerun import digest
from samerun.digest.device import DeviceSlots
from samerun.digest.device_group import DeviceGroup
from samerun.digest.host import digest_dense, find_plain_device, require_memory
from samerun.digest.same_layout import LayoutSequence
from samerun.digest.unobserved import hide_ops
from samerun.errors import DigestError
from samerun.interruption import is_the_scripts

# torch's own answers, whatever a subclass says of itself
_base: Any = torch._C.TensorBase
is_on_host: Callable[[torch.Tensor], bool] = _base.is_cpu.__get__
_device: Callable[[torch.Tensor], torch.device] = _base.device.__get__
_dtype: Callable[[torch.Tensor], torch.dtype] = _base.dtype.__get__
_shape: Callable[[torch.Tensor], torch.Size] = _base.shape.__get__
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


class NoBytes(bytes):
    """The mark of a value that has no bytes, or none that can be read; it knows what is known of that."""

    described: str  # such as "Parameter float32[8, 4]"

    def __new__(cls, value: object) -> NoBytes:
        """The mark of this value."""
        mark = super().__new__(cls, FINGERPRINT)
        mark.described = _describe_value(value)
        return mark


class Tensors:
    """Digests tensors without ever making the host wait for a device, until `settle`."""

    def __init__(self) -> None:
        self._slots: dict[torch.device, DeviceSlots] = {}
        self.waiting: list[Slot] = []  # still to be filled
        self._alike: dict[str, LayoutSequence | None] = {}
        self._groups: dict[str, DeviceGroup | None] = {}
        self._others: Counter[str] = Counter()
        self.kinds: set[str] = set()  # the kinds of device, besides the host, that were digested

    def digest(self, tensor: torch.Tensor) -> bytes | Slot:
        """The digest of one tensor, or a slot that `settle` will fill.

        A tensor without bytes (meta, fake), or one that cannot be read, gets a mark instead of an error.
        """
        try:
            return digest_dense(tensor) if is_on_host(tensor) else self._on_device(tensor)
        except Exception as error:  # a subclass's own code raises what it likes
            if is_the_scripts(error):
                raise
            return NoBytes(tensor)

    def _on_device(self, tensor: torch.Tensor) -> bytes | Slot:
        device = _device(tensor)
        if device.type == "meta":
            return NoBytes(tensor)
        slot = Slot(device, self._find_slots(device).add(tensor))
        self.waiting.append(slot)
        return slot

    def group(self, name: str, tensors: Sequence[torch.Tensor | None]) -> bytes | Sequence[bytes | Slot]:
        """The digests of a group that is digested again and again; NOTHING for a tensor that is None.

        In one piece, where the group is as it was the last time.
        """
        digests = self.alike(name, tensors)
        if digests is not None:
            return digests
        if self._others[name] < _MOST_OTHER:
            self._others[name] += 1
            there = [tensor for tensor in tensors if tensor is not None and is_on_host(tensor)]
            alike = self._alike[name] = LayoutSequence.of(there) if len(there) == len(tensors) else None
            if alike is not None and (digests := alike.digest(tensors)) is not None:
                return digests
            if not there:
                self._groups[name] = self._find_group(tensors)
        group = self._groups.get(name)
        if group is not None and (slots := self._add_group(group, tensors)) is not None:
            return slots
        return self._digest_all(tensors)

    def _find_group(self, tensors: Sequence[torch.Tensor | None]) -> DeviceGroup | None:
        """How to digest these again, which are on one device; None where they are not."""
        there = [tensor for tensor in tensors if tensor is not None]
        if not there or len(there) < len(tensors) or _device(there[0]).type == "meta":
            return None
        try:
            return DeviceGroup.of(self._find_slots(_device(there[0])), there)
        except Exception as error:  # one of them cannot be read
            if is_the_scripts(error):
                raise
            return None

    def _add_group(
        self, group: DeviceGroup, tensors: Sequence[torch.Tensor | None]
    ) -> list[bytes | Slot] | None:
        try:
            numbers = group.add(tensors)
        except Exception as error:
            if is_the_scripts(error):
                raise
            return None
        if numbers is None:
            return None
        found = [Slot(group.device, number) for number in numbers]
        self.waiting += found
        return [*found]

    def _digest_all(self, tensors: Sequence[torch.Tensor | None]) -> list[bytes | Slot]:
        """Each as by `digest`; those of a device together."""
        digests: list[bytes | Slot] = [NOTHING] * len(tensors)
        apart: dict[torch.device, list[int]] = {}
        for number, tensor in enumerate(tensors):
            if tensor is None:
                continue
            if is_on_host(tensor) or (device := _device(tensor)).type == "meta":
                digests[number] = self.digest(tensor)
            else:
                apart.setdefault(device, []).append(number)
        for device, numbers in apart.items():
            there = [tensor for number in numbers if (tensor := tensors[number]) is not None]
            for number, found in zip(numbers, self._on_device_all(device, there), strict=True):
                digests[number] = found
        return digests

    def _on_device_all(self, device: torch.device, tensors: Sequence[torch.Tensor]) -> list[bytes | Slot]:
        try:
            slots = self._find_slots(device)
            found = [Slot(device, index) for index in slots.add_all(tensors)]
        except Exception as error:  # one of them cannot be read
            if is_the_scripts(error):
                raise
            return [self.digest(tensor) for tensor in tensors]
        self.waiting += found
        return [*found]

    def _find_slots(self, device: torch.device) -> DeviceSlots:
        slots = self._slots.get(device)
        if slots is None:
            slots = self._slots[device] = DeviceSlots(device)
            self.kinds.add(device.type)
        return slots

    def alike(self, name: str, values: Sequence[Any]) -> bytes | None:
        """The same, if all are tensors, and like those at their places the last time; else None."""
        alike = self._alike.get(name)
        return None if alike is None else alike.digest(values)

    def parts(self, value: Any) -> list[bytes | Slot]:
        """The digests of a batch or of a module's arguments, of whatever it holds."""
        if issubclass(type(value), torch.Tensor):
            return [self.digest(value)]
        found = list(walk_tensors(value))
        if all(map(is_on_host, found)):
            try:
                return [digest.digest_value(value)]
            except DigestError:
                pass  # something in it: the rest of it is not
        if not found:
            return [NoBytes(value)]
        return [self.digest(tensor) for tensor in found]

    def settle(self) -> None:
        """Wait for the devices and fill every slot."""
        if not self.waiting:
            return
        read = {device: slots.read() for device, slots in self._slots.items()}
        for slot in self.waiting:
            slot.value = read[slot.device][slot.index]
        self.waiting.clear()


# torch's and Python's own ways to look inside, since a subclass's may print, count or raise
_INSIDE: tuple[tuple[type, Callable[[Any], Iterable[Any]]], ...] = (
    (dict, lambda value: dict.values(value)),
    (UserDict, lambda value: value.data.values()),
    (Mapping, lambda value: value.values()),
    (list, list.__iter__),
    (tuple, tuple.__iter__),
)


def walk_tensors(value: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    """The tensors in a batch or in a module's arguments."""
    kind = type(value)  # not what it says of itself
    if issubclass(kind, torch.Tensor):
        yield value
    elif depth < 8:
        for base, inside in _INSIDE:
            if issubclass(kind, base):
                try:
                    items = list(inside(value))
                except Exception as error:
                    if is_the_scripts(error):
                        raise
                    return
                for item in items:
                    yield from walk_tensors(item, depth + 1)
                return


def number_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """The one number that a tensor is, apart from its graph; None where it is none, or cannot be read."""
    try:
        with hide_ops():
            if not find_plain_device(tensor):  # a subclass with memory of its own is read past its methods
                tensor = tensor.as_subclass(torch.Tensor)
                if not find_plain_device(tensor):
                    return None
            require_memory(tensor)
            return None if tensor.numel() != 1 or tensor.is_complex() else tensor.detach()
    except Exception as error:
        if is_the_scripts(error):
            raise
        return None


def _describe_value(value: Any) -> str:
    name = type(value).__name__
    if not issubclass(type(value), torch.Tensor):
        return name
    return f"{name} {describe_shape(value)}".rstrip()


def describe_shape(tensor: torch.Tensor) -> str:
    """As in float32[3, 4]; "" where there is none, as of a nested tensor, or one that is not made yet."""
    try:
        return f"{str(_dtype(tensor)).removeprefix('torch.')}{list(_shape(tensor))}"
    except Exception:
        return ""
