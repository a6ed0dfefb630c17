"""Digests of dense tensors in host memory that are like others before: one call says whether they are.

torch.compile's guards compare the type, dispatch keys, dtype, sizes and strides of tensors with those of
others; here they stand for all the questions of `samerun.digest.host` but where a tensor lies, and whether
there is memory behind it. The digests are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add, ge, mul, sub
from typing import Any

import torch
from xxhash import xxh3_128_digest

from samerun.digest.host import function_mode_is_on, plain_device, reading, storage_address

_base: Any = torch._C.TensorBase
_offset: Callable[[Any], int] = _base.storage_offset
_storage: Callable[[Any], Any] = _base.untyped_storage
_bytes: Callable[[Any], int] = torch.UntypedStorage.nbytes


class Like:
    """How to read tensors that are like one that is plain, contiguous and in host memory."""

    __slots__ = ("check", "itemsize", "memory", "nbytes", "seed", "shape", "stride")

    def __init__(self, tensor: torch.Tensor, check: Callable[[torch.Tensor], bool]) -> None:
        self.check = check
        self.memory, self.nbytes, self.itemsize, self.seed = reading(tensor)
        self.shape = tensor.shape
        self.stride = tensor.stride()

    @classmethod
    def of(cls, tensor: torch.Tensor) -> Like | None:
        """None for a tensor of another kind or without elements, and where torch has no guards."""
        check = _check_of([tensor]) if tensor.numel() else None
        return None if check is None else cls(tensor, check)


class Alike:
    """How to digest a sequence of tensors, as long as each is like the one that was at its place.

    There may be ten thousand small ones, so each question is put to all of them in one go.
    """

    def __init__(self, check: Callable[..., bool], ways: Sequence[tuple[Any, int, int, int]]) -> None:
        self._check = check
        self._memories = [memory for memory, _, _, _ in ways]
        self._nbytes = [nbytes for _, nbytes, _, _ in ways]
        self._itemsizes = [itemsize for _, _, itemsize, _ in ways]
        self._seeds = [seed for _, _, _, seed in ways]
        # Where the tensors were the last time, and the memory there. Parameters and their state stay.
        self._bases: list[int] = []
        self._offsets: list[int] = []
        self._memory: list[Any] = []

    @classmethod
    def of(cls, tensors: Sequence[torch.Tensor]) -> Alike | None:
        """For tensors that are plain, contiguous and in host memory; None when one of them is not."""
        check = _check_of(tensors) if tensors else None
        if check is None:
            return None
        kinds: dict[tuple[torch.dtype, torch.Size], tuple[Any, int, int, int]] = {}
        ways = []
        for tensor in tensors:
            kind = tensor.dtype, tensor.shape
            way = kinds.get(kind)
            if way is None:
                way = kinds[kind] = reading(tensor)
            ways.append(way)
        return cls(check, ways)

    def digest(self, tensors: Sequence[torch.Tensor | None]) -> bytes | None:
        """As `digest_dense` of each, in one piece; None when one is not what it was, or has no memory."""
        if len(tensors) != len(self._seeds) or function_mode_is_on() or not self._check(*tensors):
            return None
        bases, offsets = list(map(storage_address, tensors)), list(map(_offset, tensors))
        if bases != self._bases or offsets != self._offsets:
            memory = self._find(tensors, bases, offsets)
            if memory is None:
                return None
            self._bases, self._offsets, self._memory = bases, offsets, memory
        return b"".join(map(xxh3_128_digest, self._memory, self._seeds))

    def _find(self, tensors: Sequence[Any], bases: list[int], offsets: list[int]) -> list[Any] | None:
        starts = bases
        room = list(map(_bytes, map(_storage, tensors)))
        if any(offsets):
            skipped = list(map(mul, offsets, self._itemsizes))
            starts, room = list(map(add, bases, skipped)), list(map(sub, room, skipped))
        if not all(map(ge, room, self._nbytes)):
            return None
        if 0 in bases and any(n and not base for base, n in zip(bases, self._nbytes, strict=True)):
            return None
        return [memory[start] for memory, start in zip(self._memories, starts, strict=True)]


def _check_of(tensors: Sequence[torch.Tensor]) -> Callable[..., bool] | None:
    """What tells whether as many tensors are like these; None where that cannot be told in this way."""
    guards: Any = getattr(getattr(torch._C._dynamo, "guards", None), "TensorGuards", None)
    if guards is None or not all(plain_device(t) == "cpu" and t.is_contiguous() for t in tensors):
        return None
    check: Callable[..., bool] = guards(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None).check
    return check if check(*tensors) else None  # never true where one tensor is there twice
