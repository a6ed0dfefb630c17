from __future__ import annotations

import threading

import pytest
import torch

from samerun.digest import device, digest_tensor
from samerun.digest.device import DeviceSlots
from samerun.digest.mix128 import compute_lanes
from samerun.errors import DigestError

from .many import Many


def one(t: torch.Tensor) -> bytes:
    slots = DeviceSlots("cpu", capacity=1)
    slots.add(t)
    return slots.read()[0]


def test_digests_come_in_the_order_of_adding():
    tensors = [torch.full((n,), float(n)) for n in range(20)]
    slots = DeviceSlots("cpu", capacity=64)
    assert [slots.add(t) for t in tensors] == list(range(20))
    assert slots.read() == [one(t) for t in tensors]


def test_reading_empties_it():
    slots = DeviceSlots("cpu", capacity=4)
    assert slots.read() == []
    slots.add(torch.ones(3))
    slots.add(torch.ones(4))
    slots.read()
    assert slots.add(torch.ones(5)) == 0
    assert slots.read() == [one(torch.ones(5))]
    assert slots.read() == []


@pytest.mark.parametrize("capacity", [1, 2, 3, 50])
def test_it_grows_and_forgets_nothing(capacity):
    tensors = [torch.full((3,), float(n)) for n in range(40)]
    slots = DeviceSlots("cpu", capacity=capacity)
    for _ in range(2):
        for t in tensors:
            slots.add(t)
        assert slots.read() == [one(t) for t in tensors]


def test_a_tensor_is_digested_as_it_was_when_added():
    t = torch.zeros(5)
    slots = DeviceSlots("cpu")
    slots.add(t)
    t += 1
    slots.add(t)
    assert slots.read() == [one(torch.zeros(5)), one(torch.ones(5))]


def test_tensors_of_several_parts_take_several_slots_and_give_one_digest():
    sparse, plain = torch.eye(3).to_sparse(), torch.ones(2)
    slots = DeviceSlots("cpu", capacity=1)
    assert [slots.add(t) for t in (sparse, plain, sparse)] == [0, 1, 2]
    first, second, third = slots.read()
    assert (first, second) == (one(sparse), one(plain))
    assert first == third


def test_a_refused_tensor_leaves_the_others_right():
    slots = DeviceSlots("cpu", capacity=4)
    slots.add(torch.ones(2))
    with pytest.raises(DigestError, match="meta"):
        slots.add(torch.ones(2, device="meta"))
    with pytest.raises(DigestError):
        slots.add(torch._to_functional_tensor(torch.ones(2)))
    assert slots.add(torch.zeros(2)) == 1
    assert slots.read() == [one(torch.ones(2)), one(torch.zeros(2))]


def test_a_tensor_on_another_device_has_the_digest_of_its_own():
    slots = DeviceSlots("cpu", capacity=1)
    slots.device = torch.device("mps:0")  # so that the host is another device
    slots.add(torch.ones(3))
    assert slots.read() == [digest_tensor(torch.ones(3))]


def test_made_and_read_in_inference_mode_used_outside():
    with torch.inference_mode():
        slots = DeviceSlots("cpu", capacity=1)
    t = torch.ones(3)
    slots.add(t)
    slots.add(t)
    with torch.inference_mode():
        assert slots.read() == [one(t)] * 2
    slots.add(t)
    assert slots.read() == [one(t)]


KINDS = [
    *[torch.full((n,), float(n)) for n in (1, 3, 1000)],
    torch.zeros(0),
    torch.eye(3).to_sparse(),
    torch.ones(4, 5).t(),
    torch.arange(9, dtype=torch.uint8)[1:],
    torch.ones(7).bfloat16(),
]


@pytest.mark.parametrize("capacity", [1, 3, 64])
@pytest.mark.parametrize("works", [True, False])
def test_many_have_the_digests_of_each(capacity, works):
    slots = DeviceSlots("cpu", capacity=capacity)
    many = slots._add_many = Many(works)
    slots.add(torch.ones(2))
    for _ in range(2):
        added = slots.add_all([*KINDS, KINDS[0]])
        assert len(set(added)) == len(KINDS) + 1
    assert slots.read() == [one(t) for t in (torch.ones(2), *2 * [*KINDS, KINDS[0]])]
    assert many.launches == [5, 5] * works  # what is empty, sparse, strided or not aligned is digested alone


def test_a_table_is_made_once_for_tensors_that_stay_and_follows_what_they_hold():
    t = [torch.zeros(5), torch.ones(6), torch.ones(7)]
    slots = DeviceSlots("cpu", capacity=4)
    slots._add_many = Many()
    slots.add_all(t)
    t[1][3] += 1
    slots.add_all(t)
    assert len(slots._tables) == 1
    found = slots.read()
    assert found[:3:2] == found[3::2] and found[1] != found[4] == one(t[1])


def test_one_of_many_that_has_no_memory_is_refused_and_leaves_the_others_right():
    slots = DeviceSlots("cpu", capacity=4)
    slots._add_many = Many()
    freed = torch.ones(4)
    freed.untyped_storage().resize_(0)
    with pytest.raises(DigestError):
        slots.add_all([torch.ones(2), torch.ones(3), freed, torch.ones(5)])
    last = slots.add(torch.zeros(2))
    assert slots.read()[last] == one(torch.zeros(2))


def test_threads_may_add_at_once():
    slots = DeviceSlots("cpu", capacity=1)
    found: dict[int, int] = {}

    def add(n: int) -> None:
        found[n] = slots.add(torch.full((3,), float(n)))

    threads = [threading.Thread(target=add, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    digests = slots.read()
    assert all(digests[slot] == one(torch.full((3,), float(n))) for n, slot in found.items())
    assert len(digests) == 16


def test_a_kernel_that_cannot_be_built_is_replaced_for_good(monkeypatch):
    calls = []

    def broken(bits, rows, slot, seed):
        calls.append(slot)
        raise RuntimeError("Failed to find C compiler")

    monkeypatch.setattr(device, "_kernel_fails", False)
    monkeypatch.setattr(device, "_launch_on", lambda _: device.nullcontext())
    add_lanes = device._guard(broken)
    rows = torch.zeros(2, 2, dtype=torch.int64)
    add_lanes(torch.arange(5), rows, 0, 7)
    add_lanes(torch.arange(6), rows, 1, 7)
    assert calls == [0]
    assert torch.equal(rows, torch.stack([compute_lanes(torch.arange(n), 7) for n in (5, 6)]))


def test_without_triton_torch_operations_are_used(monkeypatch):
    from samerun.digest import mix128_triton

    monkeypatch.setattr(mix128_triton, "launch", None)
    assert device._choose_implementation(torch.device("cuda")) == (device._add_lanes_in_torch, None)
    assert device._choose_implementation(torch.device("mps")) == (device._add_lanes_in_torch, None)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
class TestOnCuda:
    def test_the_same_bits_as_torch_operations_on_the_host(self):
        slots = DeviceSlots("cuda", capacity=8)
        expected = []
        for dtype in (torch.float32, torch.bfloat16, torch.uint8, torch.complex128, torch.bool):
            for n in (0, 1, 7, 8, 9, 1000, 1 << 20):
                for offset in (0, 1, 3):
                    t = torch.ones(n + offset, device="cuda").cumsum(0).to(dtype)[offset:]
                    slots.add(t)
                    expected.append(one(t.cpu()))
        assert slots.read() == expected
        assert not device._kernel_fails

    def test_every_stream_is_waited_for(self):
        slots = DeviceSlots("cuda", capacity=2)
        streams = [torch.cuda.Stream() for _ in range(4)]
        for _ in range(20):
            for n, stream in enumerate(streams):
                with torch.cuda.stream(stream):
                    t = torch.full((1 << 22,), 1.0, device="cuda")
                    for _ in range(5):
                        t += n
                    slots.add(t)
            assert slots.read() == [one(torch.full((1 << 22,), 1.0 + 5 * n)) for n in range(4)]

    def test_refused_while_a_graph_is_captured(self):
        slots, t = DeviceSlots("cuda"), torch.ones(3, device="cuda")
        with torch.cuda.graph(torch.cuda.CUDAGraph()), pytest.raises(DigestError, match="CUDA graph"):
            slots.add(t)
