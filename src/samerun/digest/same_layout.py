"""Digests of dense tensors in host memory that are like others before: one call says whether they are.

torch.compile's guards compare the type, dispatch keys, dtype, sizes and strides of tensors with those of
others; here they stand for all the questions of `samerun.digest.host` but where a tensor lies, and whether
there is memory behind it. The digests are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, repeat
from operator import add, ge, mul, sub
from struct import Struct
from typing import Any

import torch
from xxhash import xxh3_128_digest

from samerun.digest.host import ALL_MEMORY, find_plain_device, function_mode_is_on, plan_reading
from samerun.digest.room import room

_AT_ONCE = 1024  # tensors: with what lies behind them, some hundred kilobytes
_MOST_COPIED = 256  # bytes of a tensor: fewer are copied in less time than a view of them is made
_base: Any = torch._C.TensorBase
# A third of what it costs to ask for the storage's address and the offset in it. It would make a lazy clone
# real, so `make_check` takes none.
get_address: Callable[[Any], int] = _base.data_ptr
_is_lazy_clone: Callable[[torch.Tensor], bool] = torch._C._is_cow_tensor  # type: ignore[attr-defined]
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
        check = make_check([tensor]) if tensor.numel() else None
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


class _Piece:
    """Some tensors of a sequence."""

    def __init__(self, check: Callable[..., bool], ways: Sequence[tuple[Any, int, int, int]]) -> None:
        self._check = check
        self._memories = [memory for memory, _, _, _ in ways]
        self._nbytes = [nbytes for _, nbytes, _, _ in ways]
        self._itemsizes = [itemsize for _, _, itemsize, _ in ways]
        self._seeds = [seed for _, _, _, seed in ways]
        # Where the tensors were the last time, and the memory there once they stayed, as parameters do.
        self._starts: list[int] = []
        self._memory: list[Any] = []
        size = self._nbytes[0]
        one_size = size <= _MOST_COPIED and self._nbytes.count(size) == len(self._nbytes)
        self._copy = Struct(f"{size}s").unpack_from if one_size else None

    @classmethod
    def of(cls, tensors: Sequence[torch.Tensor]) -> _Piece | None:
        """None when one of the tensors is not plain, contiguous and in host memory."""
        check = make_check(tensors)
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
        if room.must_be_asked and not reach_their_ends(tensors, self._nbytes, self._itemsizes):
            return None
        starts = list(map(get_address, tensors))
        memory: Iterable[Any]
        if starts == self._starts:
            if not self._memory:
                self._memory = [at[start] for at, start in zip(self._memories, starts, strict=True)]
            memory = self._memory
        else:
            if 0 in starts and any(n and not start for start, n in zip(starts, self._nbytes, strict=True)):
                return None
            self._starts, self._memory = starts, []
            memory = self._read(starts)
        return b"".join(map(xxh3_128_digest, memory, self._seeds))

    def _read(self, starts: list[int]) -> Iterable[Any]:
        """The bytes of each tensor."""
        if self._copy is not None:
            return chain.from_iterable(map(self._copy, repeat(ALL_MEMORY), starts))
        return map(ALL_MEMORY.__getitem__, map(slice, starts, map(add, starts, self._nbytes)))


def reach_their_ends(tensors: Sequence[Any], nbytes: Sequence[int], itemsizes: Sequence[int]) -> bool:
    """Whether the storage of each tensor reaches to its end."""
    skipped = map(mul, map(_offset, tensors), itemsizes)
    return all(map(ge, map(sub, map(_bytes, map(_storage, tensors)), skipped), nbytes))


def make_check(tensors: Sequence[torch.Tensor], kind: str = "cpu") -> Callable[..., bool] | None:
    """What tells whether as many tensors are like these.

    None where these are not plain and contiguous on this kind of device, or where that cannot be told so.
    """
    guards: Any = getattr(getattr(torch._C._dynamo, "guards", None), "TensorGuards", None)
    if guards is None or not all(find_plain_device(t) == kind and t.is_contiguous() for t in tensors):
        return None
    if any(map(_is_lazy_clone, tensors)):
        return None
    check: Callable[..., bool] = guards(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None).check
    return check if check(*tensors) else None  # never true where one tensor is there twice
