from __future__ import annotations

import pytest
import torch

from samerun.digest import device, digest_tensor
from samerun.digest.device import DeviceSlots
from samerun.digest.device_group import DeviceGroup
from samerun.recording.trace.tensor_digests import NOTHING, Slot, Tensors

from .many import Many


def one(t: torch.Tensor) -> bytes:
    slots = DeviceSlots("cpu", capacity=1)
    slots.add(t)
    return slots.read()[0]


def make() -> list[torch.Tensor]:
    return [torch.randn(size) for size in (1, 3, 1000, 70_000)] + [torch.ones(5, 4).bfloat16()]


def slots_of_many(works: bool = True) -> DeviceSlots:
    slots = DeviceSlots("cpu", capacity=2)
    slots._add_many = Many(works)
    return slots


def test_a_group_has_the_digests_of_each_wherever_its_tensors_are_and_whatever_they_hold(monkeypatch):
    monkeypatch.setattr(device, "_SMALL", 100_000)  # bytes: one of them is larger
    slots, tensors = slots_of_many(), make()
    group = DeviceGroup.of(slots, tensors)
    other = make()
    for there in (tensors, other, other):
        there[1][2] += 1
        numbers = group.add(there)
        found = slots.read()
        assert [found[number] for number in numbers] == [one(t) for t in there]
    assert slots._add_many.launches == [4, 4, 4]


def test_what_is_not_as_it_was_is_left_to_others():
    slots, tensors = slots_of_many(), make()
    group = DeviceGroup.of(slots, tensors)
    assert group.add(tensors[:-1]) is None
    assert group.add([*tensors[:-1], torch.ones(5, 5).bfloat16()]) is None
    assert group.add([*tensors[:-1], torch.ones(5, 4)]) is None
    assert group.add([*tensors[:-1], torch.ones(4, 5).bfloat16().t()]) is None
    assert group.add([tensors[0], tensors[0], *tensors[2:]]) is None
    freed = tensors[2].clone()
    freed.untyped_storage().resize_(0)
    assert group.add([*tensors[:2], freed, *tensors[3:]]) is None
    odd = torch.randn(1004)[1:1001]
    assert odd.data_ptr() % 8 and group.add([*tensors[:2], odd, *tensors[3:]]) is None
    assert group.add(tensors) is not None


@pytest.mark.parametrize(
    "tensors", [[torch.ones(2), torch.eye(2).to_sparse()], [torch.ones(2, device="meta")] * 3]
)
def test_of_tensors_of_another_kind_there_is_none(tensors):
    assert DeviceGroup.of(slots_of_many(), tensors) is None


def test_where_the_kernel_fails_each_is_digested_alone():
    slots, tensors = slots_of_many(works=False), make()
    group = DeviceGroup.of(slots, tensors)
    assert group.add(tensors) is None and not slots.takes_many
    assert DeviceGroup.of(slots, tensors) is None


def test_the_recorder_digests_a_group_by_one_launch_a_time(monkeypatch):
    """The host's memory stands for a device's."""
    from samerun.recording.trace import tensor_digests

    monkeypatch.setattr(tensor_digests, "is_on_host", lambda tensor: False)
    many = Many()
    monkeypatch.setattr(device, "_choose_implementation", lambda of: (device._add_lanes_in_torch, many))
    tensors, digests = make(), Tensors()
    for turn in range(3):
        tensors[2][7] = turn
        found = digests.group("parameters:SGD", tensors)
        assert many.launches == [5] * (turn + 1)
        digests.settle()
        assert all(isinstance(slot, Slot) for slot in found)
        assert [slot.value for slot in found] == [one(t) for t in tensors]
    assert digests.group("parameters:SGD", [None, *tensors[1:]])[0] == NOTHING
    assert digest_tensor(tensors[0]) != one(tensors[0])  # the host's own algorithm is another
