"""scatter_reduce and scatter with a product: the factors of each place are sorted together and multiplied."""

from __future__ import annotations

from typing import Any

import torch

from samerun.ops.argument_checks import check, check_bounds, check_scatter
from samerun.ops.engines import segments
from samerun.ops.example_inputs import draw_integers, draw_normal
from samerun.ops.implementation import Implementation
from samerun.ops.torch_hooks import original_kernels


def scatter_reduce(
    self: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    src: torch.Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> torch.Tensor:
    """self with its places replaced by the product of them and what is scattered to them."""
    if reduce != "prod" or not index.numel():
        result: torch.Tensor = original_kernels.call(
            "scatter_reduce.two", self.device, self, dim, index, src, reduce, include_self=include_self
        )
        return result
    check_scatter(self, dim, index, src)
    check(torch.ops.aten.scatter_reduce.two, self, dim, index, src, reduce, include_self=include_self)
    return _multiply(self, dim, index, src, include_self)


def scatter(
    self: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor, *, reduce: str
) -> torch.Tensor:
    """The older name of it: reduce is "multiply" or "add"."""
    if reduce != "multiply" or not index.numel():
        result: torch.Tensor = original_kernels.call(
            "scatter.reduce", self.device, self, dim, index, src, reduce=reduce
        )
        return result
    check_scatter(self, dim, index, src)
    check(torch.ops.aten.scatter.reduce, self, dim, index, src, reduce=reduce)
    return _multiply(self, dim, index, src, include_self=True)


def _multiply(
    self: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor, include_self: bool
) -> torch.Tensor:
    whole = self.clone(memory_format=torch.contiguous_format)
    if not self.dim():
        whole, index, src = whole.view(1), index.reshape(-1), src.reshape(-1)
    dim %= whole.dim()
    check_bounds(index, whole.shape[dim], dim)
    factors = src[tuple(slice(size) for size in index.shape)]
    found = segments.find_segments(_find_places(whole, dim, index).reshape(-1), whole.numel())
    products = found.reduce(factors.reshape(-1), torch.mul)
    flat = whole.view(-1)
    if include_self:
        products = products * flat.index_select(0, found.keys)
    segments.put(whole.view(-1, 1, 1), found.keys, products)
    return whole.view(self.shape)


def _find_places(whole: torch.Tensor, dim: int, index: torch.Tensor) -> torch.Tensor:
    """Where each element of the index points to, in the memory of a contiguous tensor."""
    places = index.long() * whole.stride(dim)
    for other, size in enumerate(index.shape):
        if other != dim:
            along = torch.arange(size, device=index.device) * whole.stride(other)
            places = places + along.view([-1 if at == other else 1 for at in range(index.dim())])
    return places


def _make_example(device: torch.device) -> tuple[Any, ...]:
    self, index = draw_normal((300, 30), device), draw_integers(300, (3000, 30), device)
    return self, 0, index, 1 + draw_normal((3000, 30), device, 2) / 100


IMPLEMENTATIONS = (
    Implementation(
        name="scatter_reduce",
        kernels={"scatter_reduce.two": scatter_reduce},
        example=lambda device: (*_make_example(device), "prod"),
        why="factors are multiplied in whatever order their threads finish",
        how="stable sort by place, then a balanced tree over the factors of each",
        source="samerun.ops.engines.segments",
        cost="that of a sort",
        alerts=("scatter_reduce_cuda_prod_",),
    ),
    Implementation(
        name="scatter",
        kernels={"scatter.reduce": scatter},
        example=_make_example,
        options={"reduce": "multiply"},
        why="factors are multiplied in whatever order their threads finish",
        how="stable sort by place, then a balanced tree over the factors of each",
        source="samerun.ops.engines.segments",
        cost="that of a sort",
        alerts=("scatter_reduce_cuda_kernel",),
    ),
)
