"""What every digest of a tensor must tell apart and must not, for both algorithms."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

BROKEN = "this value is pinned: a change needs a new version in the algorithm's name"


def as_dtype(data: bytes, dtype: torch.dtype) -> torch.Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8).view(dtype)


def flip(t: torch.Tensor, bit: int) -> torch.Tensor:
    """A contiguous copy of `t` with one bit flipped."""
    raw = bytearray(t.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    raw[bit // 8] ^= 1 << bit % 8
    return as_dtype(bytes(raw), t.dtype).reshape(t.shape)


def test_pinned(digest, request):
    pins = {
        "xxh3-128": [
            "7a6627d524e86ed521d234d77aa95a03",
            "698605a0e33eeb1e2af9a4502a223523",
            "018e2608ed5033250689f13b388ce827",
            "f76345607b46dcecdbedb191e0bfe3d1",
        ],
        "mix128": [
            "7017fe6302be40fcbcfbc54de45fa52a",
            "909247f8aa023e709163889a5010f247",
            "2eff05d99ea765a40b9e3ca85d6d1d34",
            "bd3914c739fe525f821553bcd17a6d8e",
        ],
    }[request.node.callspec.id]
    tensors = [
        torch.arange(12, dtype=torch.float32).reshape(3, 4),
        torch.arange(12, dtype=torch.float32).reshape(3, 4).t(),
        torch.arange(11, dtype=torch.bfloat16),
        torch.zeros(0, 3),
    ]
    assert [digest(t).hex() for t in tensors] == pins, BROKEN


# The blindness table of other tracers: pairs that a sum, a norm or an xor of the elements confuses.


def values(n: int) -> torch.Tensor:
    return torch.randn(n, generator=torch.Generator().manual_seed(0))


def one_ulp(t: torch.Tensor) -> torch.Tensor:
    t = t.clone()
    smallest = t.abs().argmin()
    t[smallest] = torch.nextafter(t[smallest], torch.tensor(math.inf))
    return t


def randperm(seed: int) -> torch.Tensor:
    return torch.randperm(1000, generator=torch.Generator().manual_seed(seed))


MASK = torch.arange(64) % 3 == 0
X = values(1024)
BLINDNESS = {
    "permutation": (X[:1000], X[:1000][randperm(1)]),
    "two elements swapped": (X, X[[1, 0, *range(2, 1024)]]),
    "two distant words swapped": (X, X[[1022, 1023, *range(2, 1022), 0, 1]]),
    "transpose": (X.reshape(32, 32), X.reshape(32, 32).t()),
    "reversal": (X, X.flip(0)),
    "rotation": (X, X.roll(2)),
    "rows permuted in a batch": (X.reshape(16, 64), X.reshape(16, 64).flip(0)),
    "x and -x": (X, -X),
    "x and -x, two elements": (torch.ones(2), -torch.ones(2)),
    "two randperms": (randperm(1), randperm(2)),
    "zeros and NaN": (torch.zeros(1024), torch.full((1024,), math.nan)),
    "zeros and ones": (torch.zeros(1024), torch.ones(1024)),
    "ones and twos": (torch.ones(1024), 2 * torch.ones(1024)),
    "bool mask moved": (MASK, MASK.roll(1)),
    "signed zero": (torch.zeros(8), -torch.zeros(8)),
    "one ulp in the smallest of four million": (values(1 << 22), one_ulp(values(1 << 22))),
    "other dtype, same values": (torch.arange(100, dtype=torch.int32), torch.arange(100, dtype=torch.int64)),
    "other dtype, same bytes": (X, X.view(torch.int32)),
    "float16 and bfloat16 zeros": (torch.zeros(9, dtype=torch.half), torch.zeros(9, dtype=torch.bfloat16)),
    "other shape, same bytes": (X.reshape(32, 32), X.reshape(16, 64)),
    "one dimension more": (X, X.reshape(1, -1)),
    "0-dim and one element": (torch.tensor(1.0), torch.tensor([1.0])),
    "empty, other shape": (torch.zeros(0, 3), torch.zeros(3, 0)),
    "empty, other dtype": (torch.zeros(0), torch.zeros(0, dtype=torch.int64)),
    "zeros, other length": (torch.zeros(9, dtype=torch.uint8), torch.zeros(10, dtype=torch.uint8)),
    "NaN payload": (
        torch.tensor([0x7FC00000], dtype=torch.int32).view(torch.float32),
        torch.tensor([0x7FC00001], dtype=torch.int32).view(torch.float32),
    ),
    "NaN payload, transposed": (
        torch.full((4, 2), 0x7FC00000, dtype=torch.int32).view(torch.float32).t(),
        torch.full((4, 2), 0x7F800001, dtype=torch.int32).view(torch.float32).t(),
    ),
    "quiet and signalling bfloat16 NaN, transposed": (
        torch.full((4, 2), 0x7FC1, dtype=torch.int16).view(torch.bfloat16).t(),
        torch.full((4, 2), 0x7F81, dtype=torch.int16).view(torch.bfloat16).t(),
    ),
    "real and imaginary part swapped": (torch.complex(X, -X), torch.complex(-X, X)),
    "conjugate": (torch.complex(X, X), torch.complex(X, X).conj()),
}


@pytest.mark.parametrize("pair", BLINDNESS.values(), ids=BLINDNESS.keys())
def test_told_apart(digest, pair):
    a, b = pair
    assert digest(a) != digest(b)
    assert digest(a) == digest(a.clone())
    assert digest(b) == digest(b.clone())


GOLDEN = 0x9E3779B97F4A7C15


def words(*unsigned: int) -> torch.Tensor:
    return torch.tensor([(w + (1 << 63)) % (1 << 64) - (1 << 63) for w in unsigned])


STRUCTURED = {
    "shifted by golden": [words(*(GOLDEN * (i + k) for i in range(16))) for k in range(200)],
    "multiples of golden": [words(*(GOLDEN * i * k for i in range(16))) for k in range(200)],
    "moved between words": [words(k, 500 - k) for k in range(500)],
    "one bit, anywhere": [
        words(*(1 << b if i == j else 0 for i in range(8))) for j in range(8) for b in range(64)
    ],
    "two top bits": [words(*((i in (j, k)) << 63 for i in range(24))) for j in range(24) for k in range(j)],
    "constants": [torch.full((33,), float(c)) for c in range(500)],
    "one tail byte moved": [torch.eye(23, dtype=torch.uint8)[i] for i in range(23)],
}


@pytest.mark.parametrize("family", STRUCTURED.values(), ids=STRUCTURED.keys())
def test_no_structured_collision(digest, family):
    assert len({digest(t) for t in family}) == len(family)


# Every dtype.


def test_dtype_every_byte_counts(digest, dtype):
    data = bytes(range(1, 49))
    t = as_dtype(data, dtype)
    assert digest(t) == digest(as_dtype(data, dtype))
    for position in range(48):
        changed = bytearray(data)
        changed[position] ^= 0x80
        assert digest(as_dtype(bytes(changed), dtype)) != digest(t)


def test_dtype_strides_do_not_count(digest, dtype):
    t = as_dtype(bytes(range(96)), dtype)
    t = t.reshape(2, -1)
    columns = as_dtype(
        b"".join(
            t[i, j].reshape(1).view(torch.uint8).numpy().tobytes() for j in range(t.shape[1]) for i in (0, 1)
        ),
        dtype,
    ).reshape(t.shape[1], 2)
    assert not t.t().is_contiguous()
    assert digest(t.t()) == digest(columns)
    assert digest(t[1]) == digest(as_dtype(bytes(range(48, 96)), dtype))
    assert digest(t[:, ::2]) != digest(t[:, 1::2])


def test_dtype_by_name(digest, dtypes):
    zeros = [as_dtype(bytes(48), dtype) for dtype in dtypes]
    same_bytes = {digest(t.reshape(-1)[:3].reshape(3)) for t in zeros}
    assert len(same_bytes) == len(zeros)


# Properties.

DTYPES = st.sampled_from(
    [torch.uint8, torch.float16, torch.bfloat16, torch.float32, torch.int64, torch.complex64]
)
BYTES = st.binary(min_size=8, max_size=400).map(lambda b: b[: len(b) // 8 * 8])


@settings(max_examples=150, deadline=None)
@given(data=BYTES, dtype=DTYPES, where=st.integers(min_value=0))
def test_any_flipped_bit_shows(digest, data, dtype, where):
    t = as_dtype(data, dtype)
    assert digest(flip(t, where % (8 * len(data)))) != digest(t)


@settings(max_examples=150, deadline=None)
@given(elements=st.lists(st.integers(-5, 5), min_size=2, max_size=40), dtype=DTYPES, data=st.data())
def test_any_permutation_that_changes_the_bytes_shows(digest, elements, dtype, data):
    permuted = data.draw(st.permutations(elements))
    a, b = (torch.tensor(x).to(torch.int8 if dtype is torch.uint8 else dtype) for x in (elements, permuted))
    assert (digest(a) == digest(b)) == (elements == permuted)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_equal_content_has_one_digest_whatever_its_strides(digest, data):
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    order = data.draw(st.permutations(range(len(shape))))
    steps = data.draw(st.lists(st.integers(1, 2), min_size=len(shape), max_size=len(shape)))
    offset = data.draw(st.integers(0, 3))
    base = values(offset + math.prod(n * s for n, s in zip(shape, steps, strict=True)))[offset:]
    t = base.reshape([n * s for n, s in zip(shape, steps, strict=True)])
    t = t[tuple(slice(None, None, s) for s in steps)].permute(order)
    assert digest(t) == digest(t.clone(memory_format=torch.contiguous_format))


def test_expanded_equals_its_copy(digest):
    t = torch.tensor([[1.0], [2.0]]).expand(2, 5)
    assert digest(t) == digest(t.contiguous())
    assert digest(torch.tensor(3.0).expand(4)) == digest(torch.full((4,), 3.0))


def test_unaligned_storage(digest):
    for offset in range(9):
        base = torch.arange(40, dtype=torch.uint8)
        assert digest(base[offset : offset + 21]) == digest(base[offset : offset + 21].clone())
