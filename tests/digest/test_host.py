from __future__ import annotations

import pytest
import torch

from samerun.digest import host
from samerun.digest.host import digest_dense
from samerun.digest.keyed import digest_bytes, make_tensor_key
from samerun.digest.tensors import digest_any, digest_tensor
from samerun.errors import DigestError


def test_the_bytes_in_logical_order_under_dtype_and_shape():
    t = torch.arange(6, dtype=torch.int32).reshape(2, 3)
    data = t.numpy().tobytes()
    assert digest_dense(t) == digest_bytes(data, "torch.int32(2, 3)")
    assert digest_dense(t.t()) == digest_bytes(
        t.t().contiguous().numpy().tobytes(), make_tensor_key(t.dtype, (3, 2))
    )
    assert digest_dense(torch.zeros(0)) == digest_bytes(b"", "torch.float32(0,)")
    assert digest_dense(torch.tensor(True)) == digest_bytes(b"\1", "torch.bool()")


@pytest.mark.parametrize("make", [lambda t: t, lambda t: t.t(), lambda t: t[:, 1:], lambda t: t[:0]])
def test_the_fast_path_gives_what_the_slow_one_gives(make):
    t = make(torch.arange(12.0).reshape(3, 4))
    assert digest_dense(t) == digest_tensor(t) == digest_any(t)


def test_a_view_is_read_where_it_lies():
    t = torch.arange(100.0)
    assert digest_dense(t[37:41]) == digest_dense(torch.tensor([37.0, 38.0, 39.0, 40.0]))


def test_what_it_remembers_of_shapes_is_bounded(monkeypatch):
    monkeypatch.setattr(host, "_MAX_PLANS", 10)
    digests = {digest_dense(torch.zeros(n)) for n in range(50)}
    assert len(digests) == 50
    assert len(host._plans) <= 10


def test_something_else_than_a_tensor_is_refused():
    with pytest.raises(DigestError, match=r"builtins\.list.*digest_value"):
        digest_tensor([1, 2])
