"""index_put_ and put_ on the CPU: also what `x[index]` does in its backward pass.

torch shares the additions out among threads, atomically; when it must repeat itself it leaves one thread.
Here the indices become row numbers and the rows are added by index_add_ or scatter_add_, which torch
computes in the order of the indices for each row, whatever the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from samerun.ops.argument_checks import name_dtype
from samerun.ops.engines import segments
from samerun.ops.example_inputs import draw_integers, draw_normal
from samerun.ops.implementation import Implementation
from samerun.ops.torch_hooks import original_kernels

# Below this many elements torch's own kernel is a single loop (index_parallel_grain_size), and quicker.
_ONE_LOOP = 3000
_PARALLEL = 16  # elements of a row from which on index_add_ shares rows out among threads
_ADDED = frozenset(
    {
        torch.float32,
        torch.float64,
        torch.float16,
        torch.bfloat16,
        torch.complex64,
        torch.complex128,
        torch.int64,
        torch.int32,
        torch.int16,
        torch.int8,
        torch.uint8,
    }
)


def index_put(
    self: torch.Tensor,
    indices: Sequence[torch.Tensor | None],
    values: torch.Tensor,
    accumulate: bool = False,
    unsafe: bool = False,
) -> torch.Tensor:
    """self, with values added, or stored, at the indices; of several stored in one place, the last."""
    one_loop = torch.are_deterministic_algorithms_enabled()  # which is what torch's own kernel then is
    rows = None if one_loop and not accumulate else _Rows.of(self, indices, values, one_loop)
    if rows is not None and accumulate:
        rows.add()
        return self
    if rows is not None and not accumulate and rows.may_meet:
        indices, values = rows.last()
    original_kernels.call("_index_put_impl_", self.device, self, list(indices), values, accumulate, unsafe)
    return self


class _Rows:
    """An index_put_ as rows of a matrix: which row each of the values goes to."""

    def __init__(
        self, target: torch.Tensor, dims: list[int], indices: list[torch.Tensor], values: torch.Tensor
    ) -> None:
        self.target = target
        self.dims = dims  # the dimensions that are indexed
        self.indices = indices  # int64, of one shape, none negative
        self.values = values
        self.may_meet = True

    @classmethod
    def of(
        cls,
        target: torch.Tensor,
        indices: Sequence[torch.Tensor | None],
        values: torch.Tensor,
        one_loop: bool,
    ) -> _Rows | None:
        """None for what torch itself computes in one loop, and quicker, and for what torch refuses."""
        found = _number_dims(target, indices)
        if found is None:
            return None
        dims, given = found
        if not _can_be_added(target, dims, given, values):
            return None
        shape = _broadcast(given)
        if shape is None:
            return None
        rest = target.numel() // max(1, _multiply_sizes(target.shape[dim] for dim in dims))
        if one_loop and 1 < rest < _PARALLEL:
            return None
        if _multiply_sizes(shape) * rest < _ONE_LOOP or _shares_memory(target, values, given):
            return None
        wrapped = _wrap_indices(target, dims, given)
        if wrapped is None:
            return None
        rows = cls(target, dims, [part.expand(shape) for part in wrapped], values)
        rows.may_meet = not all(index is None or index.dtype is torch.bool for index in indices)
        try:
            rows.values = values.expand(rows._shape())
        except RuntimeError:
            return None
        return rows

    def add(self) -> None:
        """Add the values to the target."""
        first, count = self.dims[0], len(self.dims)
        adjacent = self.dims == list(range(first, first + count))
        target, at = (self.target, first) if adjacent else (self._front(self.target), 0)
        sizes = target.shape[at : at + count]
        row = self.indices[0]
        for size, index in zip(sizes[1:], self.indices[1:], strict=True):
            row = row * size + index
        values = self.values.flatten(at, at + row.dim() - 1) if row.dim() else self.values.unsqueeze(at)
        merged = (*target.shape[:at], _multiply_sizes(sizes), *target.shape[at + count :])
        try:
            _add(target.view(merged), at, row.reshape(-1), values)
        except RuntimeError:  # its memory cannot be seen as rows
            copy = target.reshape(merged)
            _add(copy, at, row.reshape(-1), values)
            target.copy_(copy.view(target.shape))

    def last(self) -> tuple[list[torch.Tensor | None], torch.Tensor]:
        """Indices and values without those for whose place there are later ones."""
        row = self.indices[0].reshape(-1)
        for dim, index in zip(self.dims[1:], self.indices[1:], strict=True):
            row = row * self.target.shape[dim] + index.reshape(-1)
        kept = segments.find_last_of_equal(row)
        indices: list[torch.Tensor | None] = [None] * (self.dims[-1] + 1)
        for dim, index in zip(self.dims, self.indices, strict=True):
            indices[dim] = index.reshape(-1)[kept]
        at, count = self._place(), self.indices[0].dim()
        values = self.values.flatten(at, at + count - 1) if count else self.values.unsqueeze(at)
        return indices, values.index_select(at, kept)

    def _place(self) -> int:
        """Where the indexed dimensions are in the values: at the first of them if adjacent, else in front."""
        first = self.dims[0]
        return first if self.dims == list(range(first, first + len(self.dims))) else 0

    def _shape(self) -> tuple[int, ...]:
        at = self._place()
        rest = [size for dim, size in enumerate(self.target.shape) if dim not in self.dims]
        return (*rest[:at], *self.indices[0].shape, *rest[at:])

    def _front(self, t: torch.Tensor) -> torch.Tensor:
        return t.permute(*self.dims, *(dim for dim in range(t.dim()) if dim not in self.dims))


def _number_dims(
    target: torch.Tensor, indices: Sequence[torch.Tensor | None]
) -> tuple[list[int], list[torch.Tensor]] | None:
    """The dimensions that are indexed, and an index of numbers for each; None for a mask of another shape."""
    dims: list[int] = []
    given: list[torch.Tensor] = []
    dim = 0
    for index in indices:
        parts: Sequence[torch.Tensor] = () if index is None else (index,)
        if index is not None and index.dtype in (torch.bool, torch.uint8):
            if not index.dim() or target.shape[dim : dim + index.dim()] != index.shape:
                return None
            parts = index.nonzero().unbind(1)
        dims += range(dim, dim + len(parts))
        given += parts
        dim += max(1, len(parts))
    return dims, given


def _can_be_added(
    target: torch.Tensor, dims: list[int], given: list[torch.Tensor], values: torch.Tensor
) -> bool:
    """Whether torch takes the indices, and adds values of this dtype."""
    return (
        bool(given)
        and dims[-1] < target.dim()
        and target.dtype in _ADDED
        and target.dtype == values.dtype
        and all(part.dtype in (torch.int64, torch.int32) for part in given)
    )


def _wrap_indices(
    target: torch.Tensor, dims: list[int], given: list[torch.Tensor]
) -> list[torch.Tensor] | None:
    """The indices as int64, none negative; None where one is out of range."""
    wrapped = []
    for dim, part in zip(dims, given, strict=True):
        size = target.shape[dim]
        low, high = (int(extreme) for extreme in part.aminmax())
        if low < -size or high >= size:
            return None
        wrapped.append(part.long() if low >= 0 else part.remainder(size).long())
    return wrapped


def _add(target: torch.Tensor, dim: int, row: torch.Tensor, values: torch.Tensor) -> None:
    if target.dim() == 1:
        target.scatter_add_(0, row, values.contiguous())
    else:
        target.index_add_(dim, row, values)


def _broadcast(given: list[torch.Tensor]) -> tuple[int, ...] | None:
    """The one shape that the tensors expand to; None when there is none."""
    shape = [1] * max(t.dim() for t in given)
    for t in given:
        for back, size in enumerate(reversed(t.shape), start=1):
            if size != 1 and shape[-back] not in (1, size):
                return None
            shape[-back] = size if shape[-back] == 1 else shape[-back]
    return tuple(shape)


def _multiply_sizes(sizes: Any) -> int:
    product = 1
    for size in sizes:
        product *= size
    return product


def _shares_memory(target: torch.Tensor, values: torch.Tensor, given: list[torch.Tensor]) -> bool:
    own = target.untyped_storage().data_ptr()
    if any(stride == 0 and size > 1 for stride, size in zip(target.stride(), target.shape, strict=True)):
        return True
    return any(t.untyped_storage().data_ptr() == own for t in (values, *given))


def put(
    self: torch.Tensor, index: torch.Tensor, source: torch.Tensor, accumulate: bool = False
) -> torch.Tensor:
    """self, with the values of source added, or stored, at the places `index` of it as one row."""
    _check(self, index, source)
    row, values = index.reshape(-1), source.reshape(-1)
    if not row.numel():
        return self
    row = _wrap_places(row, self.numel())
    flat = self.view(-1) if self.is_contiguous() else self.reshape(-1)
    if self.device.type == "cpu":  # of one row: loops
        (flat.scatter_add_ if accumulate else flat.scatter_)(0, row, values)
    elif accumulate:
        flat.index_put_((row,), values, accumulate=True)  # which sorts
    else:
        put_last(flat, row, values)
    if not self.is_contiguous():
        self.copy_(flat.view(self.shape))
    return self


def put_last(flat: torch.Tensor, row: torch.Tensor, values: torch.Tensor) -> None:
    """Write values [n] to the places [n] of a row; of several for one place, the last."""
    kept = segments.find_last_of_equal(row)
    flat.index_copy_(0, row[kept], values[kept])


def _wrap_places(row: torch.Tensor, size: int) -> torch.Tensor:
    """The places, counted from the front; torch's error for one that does not exist."""
    if row.device.type != "cpu":
        torch._assert_async(((row >= -size) & (row < size)).all())
        return row.remainder(size)
    low, high = (int(extreme) for extreme in row.aminmax())
    if low < -size or high >= size:
        wrong = low if low < -size else high
        raise IndexError(f"out of range: tried to access index {wrong} on a tensor of {size} elements.")
    return row.remainder(size) if low < 0 else row


def _check(self: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> None:
    """Refuse what torch refuses, in its words."""
    if index.dtype != torch.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {name_dtype(index)}")
    if self.dtype != source.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got "
            f"self.dtype = {name_dtype(self)} and source.dtype = {name_dtype(source)}"
        )
    if index.numel() != source.numel():
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.numel()}, index.numel() = {index.numel()}"
        )
    if index.numel() and not self.numel():
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    if any(stride == 0 and size > 1 for stride, size in zip(self.stride(), self.shape, strict=True)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory "
            "location. Please clone() the tensor before performing the operation."
        )


def _make_example(device: torch.device) -> tuple[Any, ...]:
    rows = draw_integers(500, (40_000,), device)
    return torch.zeros(500, 8, device=device), [rows], draw_normal((40_000, 8), device), True


IMPLEMENTATIONS = (
    Implementation(
        name="_index_put_impl_",
        kernels={"_index_put_impl_": index_put},
        example=_make_example,
        why="threads add to, or store in, the same place; x[index] does it in its backward pass",
        how="indices become row numbers; the rows are added in the order of the indices",
        source="torch's index_add_ and scatter_add_ on the CPU",
        cost="two passes over the indices more than torch's own, and no atomic additions",
        devices=("CPU",),
    ),
    Implementation(
        name="put_",
        kernels={"put_": put},
        example=lambda device: (
            torch.zeros(100, 50, device=device),
            draw_integers(5000, (200_000,), device),
            draw_normal((200_000,), device),
            True,
        ),
        why="threads add to, or store in, the same place",
        how="on the CPU one loop; else a stable sort by place",
        source="torch's scatter_add_ and scatter_ on the CPU, its index_put_(accumulate=True) on CUDA",
        cost="one pass over the indices more than torch's own on the CPU; that of a sort on CUDA",
        devices=("CPU", "CUDA"),
        alerts=("put_",),
    ),
)
