"""Digests of dense tensors in host memory that are like others before: one call says whether they are.

torch.compile's guards compare the type, dispatch keys, dtype, sizes and strides of tensors with those of
others; here they stand for all the questions of `samerun.digest.host` but where a tensor lies, and whether
there is memory behind it. The digests are the same.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from operator import add, ge, mul, sub
from typing import Any, NamedTuple

import torch
from xxhash import xxh3_128_digest

from samerun.digest.host import (
    ALL_MEMORY,
    find_plain_device,
    function_mode_is_on,
    plan_reading,
    storage_address,
)
from samerun.digest.room import room

_AT_ONCE = 1024  # tensors: with what lies behind them, some hundred kilobytes
_FEW = 4  # tensors of a buffer from which on it is copied
_SMALL = 4096  # bytes of it for each tensor, at most
_FAR = 1 << 62
_base: Any = torch._C.TensorBase
_offset: Callable[[Any], int] = _base.storage_offset
_storage: Callable[[Any], Any] = _base.untyped_storage
_bytes: Callable[[Any], int] = torch.UntypedStorage.nbytes


class Layout:
    """How to read tensors that are like one that is plain, contiguous and in host memory."""

    __slots__ = ("check", "itemsize", "memory", "nbytes", "seed", "shape", "stride")

    def __init__(self, tensor: torch.Tensor, check: Callable[[torch.Tensor], bool]) -> None:
        self.check = check
        self.memory, self.nbytes, self.itemsize, self.seed = plan_reading(tensor)
        self.shape = tensor.shape
        self.stride = tensor.stride()

    @classmethod
    def of(cls, tensor: torch.Tensor) -> Layout | None:
        """None for a tensor of another kind or without elements, and where torch has no guards."""
        check = _check_of([tensor]) if tensor.numel() else None
        return None if check is None else cls(tensor, check)


class LayoutSequence:
    """How to digest a sequence of tensors, as long as each is like the one that was at its place.

    There may be ten thousand small ones. Each question is put to many of them in one go, and to no more than
    the cache still holds when the next question comes: what such tensors cost is the way to their memory.
    """

    def __init__(self, pieces: Sequence[_Piece]) -> None:
        self._pieces = pieces

    @classmethod
    def of(cls, tensors: Sequence[torch.Tensor]) -> LayoutSequence | None:
        """For tensors that are plain, contiguous and in host memory; None when one of them is not."""
        pieces = []
        for start in range(0, len(tensors), _AT_ONCE):
            piece = _Piece.of(tensors[start : start + _AT_ONCE])
            if piece is None:
                return None
            pieces.append(piece)
        return cls(pieces) if pieces else None

    def digest(self, tensors: Sequence[torch.Tensor | None]) -> bytes | None:
        """As `digest_dense` of each, in one piece; None when one is not what it was, or has no memory."""
        most = len(self._pieces) * _AT_ONCE
        if not most - _AT_ONCE < len(tensors) <= most or function_mode_is_on():
            return None
        digests = []
        for number, piece in enumerate(self._pieces):
            part = piece.digest(tensors[number * _AT_ONCE : (number + 1) * _AT_ONCE])
            if part is None:
                return None
            digests.append(part)
        return b"".join(digests)


class _Cut(NamedTuple):
    """How the last buffer was cut, of which all tensors of a piece were parts."""

    offsets: list[int]  # elements
    skip: int  # bytes before the first part
    nbytes: int
    parts: list[slice]


class _Piece:
    """Some tensors of a sequence."""

    def __init__(self, check: Callable[..., bool], ways: Sequence[tuple[Any, int, int, int]]) -> None:
        self._check = check
        self._memories = [memory for memory, _, _, _ in ways]
        self._nbytes = [nbytes for _, nbytes, _, _ in ways]
        self._itemsizes = [itemsize for _, _, itemsize, _ in ways]
        self._seeds = [seed for _, _, _, seed in ways]
        # Where the tensors were the last time, and the memory there once they stayed, as parameters do.
        self._bases: list[int] = []
        self._offsets: list[int] = []
        self._memory: list[Any] = []
        self._cut: _Cut | None = None

    @classmethod
    def of(cls, tensors: Sequence[torch.Tensor]) -> _Piece | None:
        """None when one of the tensors is not plain, contiguous and in host memory."""
        check = _check_of(tensors)
        if check is None:
            return None
        kinds: dict[tuple[torch.dtype, torch.Size], tuple[Any, int, int, int]] = {}
        ways = []
        for tensor in tensors:
            kind = tensor.dtype, tensor.shape
            way = kinds.get(kind)
            if way is None:
                way = kinds[kind] = plan_reading(tensor)
            ways.append(way)
        return cls(check, ways)

    def digest(self, tensors: Sequence[torch.Tensor | None]) -> bytes | None:
        """As `LayoutSequence.digest`."""
        if len(tensors) != len(self._seeds) or not self._check(*tensors):
            return None
        bases, offsets = list(map(storage_address, tensors)), list(map(_offset, tensors))
        stayed = bases == self._bases and offsets == self._offsets
        if stayed and self._memory and not room.must_be_asked:
            return b"".join(map(xxh3_128_digest, self._memory, self._seeds))
        skipped = list(map(mul, offsets, self._itemsizes)) if any(offsets) else offsets
        if not self._is_there(tensors, bases, skipped):
            return None
        memory = self._copied(bases, offsets, skipped)
        if memory is None:
            starts = list(map(add, bases, skipped))
            if stayed:
                memory = self._memory = [at[start] for at, start in zip(self._memories, starts, strict=True)]
            else:
                self._bases, self._offsets, self._memory = bases, offsets, []
                memory = map(ALL_MEMORY.__getitem__, map(slice, starts, map(add, starts, self._nbytes)))
        return b"".join(map(xxh3_128_digest, memory, self._seeds))

    def _is_there(self, tensors: Sequence[Any], bases: list[int], skipped: list[int]) -> bool:
        """Whether there is memory behind all that has elements, and as much as it takes."""
        if 0 in bases and any(n and not base for base, n in zip(bases, self._nbytes, strict=True)):
            return False
        if not room.must_be_asked:
            return True
        return all(map(ge, map(sub, map(_bytes, map(_storage, tensors)), skipped), self._nbytes))

    def _copied(self, bases: list[int], offsets: list[int], skipped: list[int]) -> Iterable[Any] | None:
        """The bytes, where small tensors are parts of a buffer that lies elsewhere each time.

        So are the gradients of many small parameters: to look for each piece costs more than to copy it.
        """
        if len(bases) < _FEW or bases.count(bases[0]) != len(bases) or 0 in self._nbytes:
            return None
        if self._cut is None or self._cut.offsets != offsets:
            first, last = min(skipped), max(map(add, skipped, self._nbytes))
            if last - first > _SMALL * len(bases):
                return None
            parts = [
                slice(skip - first, skip - first + n) for skip, n in zip(skipped, self._nbytes, strict=True)
            ]
            self._cut = _Cut(offsets, first, last - first, parts)
        whole = ctypes.string_at(bases[0] + self._cut.skip, self._cut.nbytes)
        return list(map(whole.__getitem__, self._cut.parts))


def _check_of(tensors: Sequence[torch.Tensor]) -> Callable[..., bool] | None:
    """What tells whether as many tensors are like these; None where that cannot be told in this way."""
    guards: Any = getattr(getattr(torch._C._dynamo, "guards", None), "TensorGuards", None)
    if guards is None or not all(find_plain_device(t) == "cpu" and t.is_contiguous() for t in tensors):
        return None
    check: Callable[..., bool] = guards(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None).check
    return check if check(*tensors) else None  # never true where one tensor is there twice
