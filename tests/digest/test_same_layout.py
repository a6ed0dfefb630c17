"""Tensors that are like those before: the same digests as one by one, and no other tensor taken for one.

Covers `room.py`.
"""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from torch import nn

from samerun.digest.host import digest_dense
from samerun.digest.room import room
from samerun.digest.same_layout import Layout, LayoutSequence


@pytest.fixture(autouse=True, params=["sizes are asked for", "sizes are noted"])
def sizes(request):
    end = room.watch() if request.param == "sizes are noted" else lambda: None
    yield
    end()
    assert room.must_be_asked


def tensors() -> list[torch.Tensor]:
    torch.manual_seed(0)
    whole = torch.randn(6, 4)
    return [
        torch.randn(3, 5),
        nn.Parameter(torch.randn(7)),
        torch.tensor(2.0),
        torch.empty(0, 3),
        torch.arange(4),
        torch.rand(5).to(torch.bfloat16),
        whole[2:4],
        torch.rand(4) > 0.5,
    ]


def parts(joined):
    assert joined is not None
    return [joined[at : at + 16] for at in range(0, len(joined), 16)]


def test_digests_are_those_of_the_tensors_one_by_one():
    alike = LayoutSequence.of(tensors())
    assert alike is not None
    for _ in range(2):
        several = tensors()
        assert parts(alike.digest(several)) == [digest_dense(t) for t in several]


@pytest.mark.parametrize("number", [0, 1, 2, 4, 5, 6, 7])
def test_one_bit_of_any_of_them_shows(number):
    several = tensors()
    alike = LayoutSequence.of(several)
    assert alike is not None
    before = parts(alike.digest(several))
    several[number].detach().reshape(-1).view(torch.uint8)[0] ^= 1
    after = parts(alike.digest(several))
    assert [n for n in range(len(several)) if before[n] != after[n]] == [number]


def test_memory_that_moved_is_found_again():
    """One tensor at another place, one elsewhere in its memory, and one whose memory became short."""
    several = [torch.randn(4) for _ in range(3)]
    alike = LayoutSequence.of(several)
    assert alike is not None and alike.digest(several) is not None
    several[1].data = torch.randn(4)
    several[2].data = torch.randn(9)[3:7]
    for _ in range(2):
        assert parts(alike.digest(several)) == [digest_dense(t) for t in several]
    several[2].set_(several[2].untyped_storage(), 5, (4,))
    assert parts(alike.digest(several)) == [digest_dense(t) for t in several]
    several[2].untyped_storage().resize_(20)
    assert alike.digest(several) is None


OTHERS = {
    "shape": lambda t: torch.randn(5, 3),
    "dtype": lambda t: t.to(torch.int32),
    "strides": lambda t: torch.randn(5, 3).t(),
    "a type": lambda t: nn.Parameter(t),
    "conjugated": lambda t: torch.view_as_complex(torch.randn(3, 5, 2)).conj(),
    "sparse": lambda t: t.to_sparse(),
    "on no device": lambda t: t.to("meta"),
    "none": lambda t: None,
    "a shell": lambda t: (lambda s: (s.untyped_storage().resize_(0), s)[1])(torch.randn(3, 5)),
    "too short": lambda t: (lambda s: (s.untyped_storage().resize_(8), s)[1])(torch.randn(3, 5)),
}


@pytest.mark.parametrize("other", OTHERS)
def test_others_are_not_taken_for_those_before(other):
    several = tensors()
    alike = LayoutSequence.of(several)
    assert alike is not None
    several[0] = OTHERS[other](several[0])
    assert alike.digest(several) is None


def test_a_conjugate_is_none_like_its_tensor():
    values = torch.view_as_complex(torch.randn(3, 5, 2))
    alike, like = LayoutSequence.of([values]), Layout.of(values)
    assert alike is not None and like is not None
    assert like.check(values) and not like.check(values.conj())
    assert alike.digest([values.conj()]) is None
    assert alike.digest([values.conj().resolve_conj()]) == digest_dense(values.conj())


def test_more_or_fewer_tensors_are_others():
    alike = LayoutSequence.of(tensors())
    assert alike is not None
    assert alike.digest(tensors()[:-1]) is None
    assert alike.digest([*tensors(), torch.ones(1)]) is None


@pytest.mark.parametrize("kind", ["transposed", "meta", "sparse"])
def test_only_plain_contiguous_tensors_of_the_host_have_others_like_them(kind):
    t = {"transposed": torch.randn(3, 5).t(), "meta": torch.ones(2, device="meta")}.get(
        kind, torch.eye(3).to_sparse()
    )
    assert LayoutSequence.of([torch.ones(2), t]) is None
    assert Layout.of(t) is None


def test_a_tensor_that_is_there_twice_is_digested_one_by_one():
    t = torch.ones(3)
    assert LayoutSequence.of([t, t]) is None


@pytest.mark.parametrize("apart", [0, 3, 5000])
def test_parts_of_a_buffer_that_is_another_each_time(apart):
    """As the gradients of a stack are: small parts close together, or far apart in it."""

    def several() -> list[torch.Tensor]:
        buffer = torch.randn(6, 5 + apart)
        return [*(row[:5] for row in buffer[1:]), buffer[0, 1:4], torch.empty(0)]

    alike = LayoutSequence.of(several())
    assert alike is not None
    for _ in range(3):
        tensors = several()
        before = parts(alike.digest(tensors))
        assert before == [digest_dense(t) for t in tensors]
        tensors[3].view(torch.uint8)[19] ^= 1
        after = parts(alike.digest(tensors))
        assert [n for n, (a, b) in enumerate(zip(before, after, strict=True)) if a != b] == [3]


def test_a_storage_that_was_made_smaller_in_its_place_is_seen():
    """Also where its memory stayed at one address, and where it was made smaller by torch alone."""
    several = [torch.randn(4), torch.randn(4)]
    alike = LayoutSequence.of(several)
    assert alike is not None and alike.digest(several) is not None
    torch.ops.inductor.resize_storage_bytes_(several[0], 0)
    assert alike.digest(several) is None
    several[0] = torch.randn(4)
    assert alike.digest(several) is not None
    torch.TypedStorage(
        wrap_storage=several[1].untyped_storage(), dtype=torch.float32, _internal=True
    )._resize_(2)
    assert alike.digest(several) is None


def test_no_tensor_is_kept():
    several = tensors()
    alike = LayoutSequence.of(several)
    assert alike is not None and alike.digest(several) is not None
    like = Layout.of(several[0])
    assert like is not None and like.check(several[0])
    references = [weakref.ref(t) for t in several]
    del several
    gc.collect()
    assert [reference() for reference in references] == [None] * len(references)


def test_a_lazy_clone_is_left_to_others_and_stays_lazy():
    several = [torch.randn(4), torch._lazy_clone(torch.randn(4))]
    assert LayoutSequence.of(several) is None
    assert torch._C._is_cow_tensor(several[1])
