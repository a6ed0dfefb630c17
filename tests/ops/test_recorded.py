"""A recorder sees the operation that was called, not those that samerun computes it by."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from .computing import on_cpu


class Names(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func._schema.name)
        return func(*args, **kwargs or {})


def operations():
    x = torch.randn(2, 3, 4, 6, 6, requires_grad=True)
    rows = torch.randint(2, (4000,))
    with Names() as seen:
        F.avg_pool3d(x, 3, 1).sum().backward()
        x[rows, 0, 0].sum().backward()
    return seen.names


def test_the_same_operations_are_seen():
    plain = operations()
    with on_cpu("avg_pool3d_backward", "_index_put_impl_"):
        assert operations() == plain
    assert "aten::avg_pool3d_backward" in plain
