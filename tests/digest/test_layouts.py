"""Kinds of tensors other than dense ones, for both algorithms.

Covers `__init__.py`.
"""

from __future__ import annotations

import pytest
import torch
from torch.testing._internal.two_tensor import TwoTensor

from samerun.digest import digest_tensor
from samerun.errors import DigestError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

T = torch.arange(16.0).reshape(4, 4).tril()
U = T.clone()
U[3, 1] = torch.nextafter(U[3, 1], torch.tensor(0.0))


def nested(*parts: torch.Tensor) -> torch.Tensor:
    return torch.nested.nested_tensor(list(parts))


def jagged(*parts: torch.Tensor) -> torch.Tensor:
    return torch.nested.nested_tensor(list(parts), layout=torch.jagged)


def quantized(t: torch.Tensor, scale: float = 0.5, zero_point: int = 0, dtype: torch.dtype = torch.qint8):
    return torch.quantize_per_tensor(t, scale, zero_point, dtype)


def per_channel(t: torch.Tensor, scale: float = 0.5, dtype: torch.dtype = torch.qint8, axis: int = 0):
    scales, zeros = torch.full((4,), scale), torch.zeros(4, dtype=torch.int64)
    return torch.quantize_per_channel(t, scales, zeros, axis, dtype)


class Named(torch.Tensor):
    """A subclass with no data of its own."""


KINDS = {
    "coo": torch.Tensor.to_sparse,
    "csr": torch.Tensor.to_sparse_csr,
    "csc": torch.Tensor.to_sparse_csc,
    "bsr": lambda t: t.to_sparse_bsr((2, 2)),
    "bsc": lambda t: t.to_sparse_bsc((2, 2)),
    "hybrid coo": lambda t: t.to_sparse(1),
    "mkldnn": torch.Tensor.to_mkldnn,
    "nested": lambda t: nested(t, t[:2]),
    "jagged": lambda t: jagged(t, t[:2]),
    "jagged, transposed": lambda t: jagged(t, t[:2]).transpose(1, 2),
    "wrapper subclass": lambda t: TwoTensor(t, t + 1),
    "wrapper of a wrapper": lambda t: TwoTensor(TwoTensor(t, t), TwoTensor(t, t)),
    "subclass": lambda t: t.as_subclass(Named),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())
def test_equal_content_and_one_changed_ulp(digest, make):
    assert digest(make(T)) == digest(make(T.clone()))
    assert digest(make(T)) != digest(make(U))


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())
def test_gradients_and_inference_change_nothing(digest, make):
    expected = digest(make(T))
    if make is not KINDS["wrapper subclass"] and make is not KINDS["wrapper of a wrapper"]:
        assert digest(make(T).requires_grad_()) == expected
    with torch.inference_mode():
        assert digest(make(T.clone())) == expected


def test_kinds_of_the_same_content_are_told_apart(digest):
    assert len({digest(make(T)) for make in [*KINDS.values(), lambda t: t]}) == len(KINDS) + 1


def test_a_parameter_is_a_plain_tensor(digest):
    assert digest(torch.nn.Parameter(T)) == digest(T)
    assert digest(torch.nn.Buffer(T)) == digest(T)


def test_sparse_indices_and_the_coalesced_flag_count(digest):
    indices, values = torch.tensor([[0, 1]]), torch.tensor([1.0, 2.0])

    def coo(i, v, coalesced=False):
        return torch.sparse_coo_tensor(i, v, (4,), is_coalesced=coalesced, check_invariants=False)

    tensors = [
        coo(indices, values),
        coo(indices.flip(1), values),
        coo(indices + 1, values),
        coo(indices, values, True),
    ]
    assert len({digest(t) for t in tensors}) == 4


def test_sparse_tensors_without_values_differ_by_shape(digest):
    assert digest(torch.zeros(2, 3).to_sparse()) != digest(torch.zeros(3, 2).to_sparse())


def test_nested_parts_count_by_shape(digest):
    a, b = torch.zeros(2, 3), torch.zeros(4, 3)
    for make in (nested, jagged):
        assert digest(make(a, b)) != digest(make(b, a))
        assert digest(make(a, a, a)) != digest(make(a, b))
    assert digest(nested(torch.zeros(2, 3), torch.zeros(3, 2))) != digest(
        nested(torch.zeros(3, 2), torch.zeros(2, 3))
    )


def test_jagged_holes_do_not_count(digest):
    values = torch.cat([T, U])
    offsets, lengths = torch.tensor([0, 4, 8]), torch.tensor([3, 2])
    view = torch.nested.nested_tensor_from_jagged(values, offsets, lengths)
    packed = jagged(T[:3], U[:2])
    assert view._lengths is not None
    assert digest(view) == digest(packed)
    values[3] = 7  # in the hole
    assert digest(view) == digest(packed)
    assert digest(view.transpose(1, 2)) == digest(packed.transpose(1, 2))
    values[5] += 1
    assert digest(view) != digest(packed)


def test_jagged_caches_do_not_count(digest):
    t = jagged(T, T[:2])
    before = digest(t)
    t._get_max_seqlen(), t._get_min_seqlen()
    torch.nested.to_padded_tensor(t, 0.0)
    assert digest(t) == before


class TestQuantized:
    def test_integers_scale_and_zero_point_count(self, digest):
        tensors = [
            quantized(T),
            quantized(T + 1),
            quantized(T, scale=0.25),
            quantized(T, zero_point=1),
            quantized(T, dtype=torch.quint8),
            quantized(T, dtype=torch.qint32),
            T,
        ]
        assert len({digest(t) for t in tensors}) == len(tensors)
        assert digest(quantized(T)) == digest(quantized(T.clone()))
        assert digest(quantized(T).t()) == digest(quantized(T.t().contiguous()))

    @pytest.mark.parametrize("dtype", [torch.qint8, torch.quint8, torch.qint32], ids=str)
    def test_each_channel_counts(self, digest, dtype):
        tensors = [per_channel(T, dtype=dtype), per_channel(T + 1, dtype=dtype), per_channel(T, 0.25, dtype)]
        assert len({digest(t) for t in tensors}) == 3
        assert digest(per_channel(T, axis=0)) != digest(per_channel(T, axis=1))

    @pytest.mark.parametrize("dtype", [torch.quint4x2, torch.quint2x4], ids=str)
    def test_packed_ones_by_content_or_refused(self, digest, dtype):
        scales, zeros = torch.ones(4), torch.zeros(4)
        one, other = (
            torch.quantize_per_channel(t, scales, zeros, 0, dtype) for t in (T.clamp(0, 3), T.clamp(0, 2))
        )
        try:
            assert digest(one) != digest(other)
        except DigestError as error:
            assert "dequantize" in str(error)


def test_conjugate_and_negative_bits_are_resolved(digest):
    z = torch.complex(T, U)
    assert z.conj().is_conj() and z.conj().imag.is_neg()
    assert digest(z.conj()) == digest(z.conj().resolve_conj())
    assert digest(z.conj().imag) == digest(-U)
    assert digest(z.mH) == digest(z.mH.resolve_conj().contiguous())
    assert digest(z.conj()) != digest(z)


def test_a_tensor_of_implied_zeros_is_zeros(digest):
    assert digest(torch._efficientzerotensor(3)) == digest(torch.zeros(3))


def test_what_a_wrapper_says_of_itself_counts(digest):
    class Scaled(torch.Tensor):
        @staticmethod
        def __new__(cls, inner, scale):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        def __init__(self, inner, scale):
            self.inner, self.scale = inner, scale

        def __tensor_flatten__(self):
            return ["inner"], {"scale": self.scale}

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise AssertionError("the digest was seen")

    assert digest(Scaled(T, 2.0)) == digest(Scaled(T.clone(), 2.0))
    assert digest(Scaled(T, 2.0)) != digest(Scaled(T, 3.0))
    assert digest(Scaled(T, 2.0)) != digest(Scaled(U, 2.0))


def test_a_wrapper_that_cannot_be_opened_is_refused(digest):
    class Broken(TwoTensor):
        def __tensor_flatten__(self):
            raise ValueError("no parts today")

    with pytest.raises(DigestError, match="ValueError: no parts today"):
        digest(Broken(T, T))


# What has no bytes is refused, with the reason.


def fake() -> torch.Tensor:
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        return torch.zeros(3)


def functional() -> torch.Tensor:
    from torch._subclasses.functional_tensor import FunctionalTensor, FunctionalTensorMode

    with FunctionalTensorMode():
        return FunctionalTensor.to_functional(torch.zeros(3))


class Shell(torch.Tensor):
    """A subclass with a shape and nothing behind it."""

    @staticmethod
    def __new__(cls):
        return torch.Tensor._make_wrapper_subclass(cls, (3,))

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise AssertionError("the digest was seen")


def freed(offset: int = 0, stride: int = 1) -> torch.Tensor:
    storage = torch.arange(20.0).untyped_storage()
    t = torch.empty(0).set_(storage, offset, (3,), (stride,))
    storage.resize_(0)
    return t


NO_BYTES = {
    "meta": (lambda: torch.zeros(3, device="meta"), "to_empty"),
    "fake": (fake, "FakeTensorMode"),
    "functional": (functional, "FunctionalTensor"),
    "functionalized": (lambda: torch._to_functional_tensor(torch.zeros(3)), "Functionalize"),
    "lazy": (torch.nn.UninitializedParameter, "real batch"),
    "shell": (Shell, "no memory"),
    "freed": (freed, "no memory"),
    "freed, later part": (lambda: freed(4), "no memory"),
    "freed, strided": (lambda: freed(4, 2), "no memory"),
}


@pytest.mark.parametrize(("make", "reason"), NO_BYTES.values(), ids=NO_BYTES.keys())
def test_refused(digest, make, reason):
    with pytest.raises(DigestError, match=reason):
        digest(make())


@pytest.mark.parametrize("transform", [torch.vmap, lambda f: torch.func.grad(lambda x: f(x).sum())])
def test_inside_a_function_transform_it_is_what_lies_behind(digest, transform):
    """Whatever its strides; nothing of the reading is transformed."""
    found = []

    def body(x):
        found.append(digest(x.t() if x.dim() == 2 else x))
        return x

    for value in (torch.ones(3), torch.ones(3), torch.tensor([1.0, 1, 0]), *_pairs()):
        transform(body)(value)
    assert found[0] == found[1] != found[2]
    assert found[3] == found[4] != found[5]


def _pairs():
    flipped = torch.ones(4, 3, 2)
    flipped[3, 1, 1] = 0
    return torch.ones(4, 3, 2), torch.ones(4, 3, 2), flipped


class Shell(torch.Tensor):
    """Has its values as attributes, and no way to be opened that torch knows."""

    @staticmethod
    def __new__(cls, values):
        return torch.Tensor._make_wrapper_subclass(cls, values.size(), dtype=values.dtype)

    def __init__(self, values):
        self.values = values

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise AssertionError("nobody may look")


def test_a_shell_is_known_by_the_tensors_that_it_keeps():
    one, same, other = (Shell(torch.tensor([1.0, last])) for last in (2.0, 2.0, 3.0))
    assert digest_tensor(one) == digest_tensor(same) != digest_tensor(other)
    del one.values
    with pytest.raises(DigestError, match="no memory"):
        digest_tensor(one)


def test_freed_in_part_is_refused(digest):
    t = torch.arange(20.0)
    views = [t, t[::2], t[8:12]]
    t.untyped_storage().resize_(40)
    for view in views:
        with pytest.raises(DigestError, match="no memory"):
            digest(view)
    assert digest(t[:10]) == digest(torch.arange(10.0))
