"""What is known of the memory of tensors: the digests that operations left there, as long as they hold.

An input is not hashed again when an operation of the same step put it out, unchanged since (same storage,
address, size and version counter): its digest is known, and that of any view of it. See docs/decisions/0002.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import xxhash
from torch.multiprocessing.reductions import StorageWeakRef

from samerun.digest.host import digest_memory, plain_device
from samerun.recording.tensors import Slot, Tensors

_GARBAGE = bytes(16)  # stands for memory that nothing has written: equal in two runs, whatever it holds

# Holds on to the name of a storage, not to its memory: while it is there, no other storage has that name.
weakly: Callable[[torch.UntypedStorage], Any] = StorageWeakRef


class _Known(NamedTuple):
    """The digest of the tensor at an address, as long as nothing is written there."""

    version: int
    nbytes: int
    shape: torch.Size
    stride: tuple[int, ...]
    digest: bytes | Slot
    storage: Any  # a weak reference: an address is used anew by memory that comes past the dispatcher

    def is_of(self, tensor: torch.Tensor, nbytes: int) -> bool:
        """Whether the memory of this tensor, all of it, is what it was."""
        return (
            self.version == tensor._version
            and self.nbytes == nbytes
            and bool(self.storage.cdata == tensor.untyped_storage()._cdata)
        )


class Memory:
    """Digests inputs and outputs, and remembers what it need not hash again."""

    def __init__(self, tensors: Tensors) -> None:
        self._tensors = tensors
        self._known: dict[int, _Known] = {}
        self.unwritten: dict[int, torch.UntypedStorage] = {}  # kept alive: its address stays its own
        self._workspaces: dict[int, torch.UntypedStorage] = {}  # likewise

    def forget(self) -> None:
        """At the end of a step."""
        self.doubt()
        self.unwritten = _in_use(self.unwritten)
        self._workspaces = _in_use(self._workspaces)

    def doubt(self) -> None:
        """Know no digest any more: memory may have been written, or used anew, past the dispatcher."""
        self._known.clear()

    def input(self, tensor: torch.Tensor) -> bytes | Slot:
        """The digest of what an operation is about to read."""
        if self.unwritten and self.is_unwritten(tensor):
            return _GARBAGE
        if self._workspaces and _is_in(self._workspaces, tensor):
            return _GARBAGE
        try:
            known = self._known.get(tensor.data_ptr())
            if known is not None and known.is_of(tensor, tensor.nbytes):
                if known.shape == tensor.shape and known.stride == tensor.stride():
                    return known.digest
            else:
                known = self._whole(tensor)
            if known is not None and isinstance(known.digest, bytes):
                view = f"{tensor.storage_offset()}{tensor.shape}{tensor.stride()}"
                return xxhash.xxh3_128_digest(known.digest + view.encode())
        except (RuntimeError, NotImplementedError):  # no storage, or an inference tensor without a version
            pass
        return self.output(tensor)

    def _whole(self, tensor: torch.Tensor) -> _Known | None:
        """What is known of the whole memory that a tensor is a part of.

        All of it is read when the tensor is a transposed view of all of it: that saves the copy.
        """
        storage = tensor.untyped_storage()
        address, nbytes = storage.data_ptr(), storage.nbytes()
        known = self._known.get(address)
        if known is not None and known.is_of(tensor, nbytes):
            return known
        if nbytes == tensor.nbytes and not tensor.is_contiguous() and plain_device(tensor) == "cpu":
            size = torch.Size([nbytes])
            digest = digest_memory(address, nbytes)
            known = _Known(tensor._version, nbytes, size, (1,), digest, weakly(storage))
            self._known[address] = known
            return known
        return None

    def output(self, tensor: torch.Tensor, bumps: int = 0) -> bytes | Slot:
        """Digest a tensor, and know it from here on, when its version counter has gone `bumps` further."""
        digest = self._tensors.digest(tensor)
        try:
            address, storage = tensor.data_ptr(), tensor.untyped_storage()
            before = self._known.get(address)
            same = before is not None and before.storage.cdata == storage._cdata
            self._known[address] = _Known(
                tensor._version + bumps,
                tensor.nbytes,
                tensor.shape,
                tensor.stride(),
                digest,
                before.storage if before is not None and same else weakly(storage),
            )
        except (RuntimeError, NotImplementedError):
            pass
        return digest

    def written(self, tensor: torch.Tensor) -> bytes | Slot:
        """Digest what an operation wrote to in place: autograd counts the write after it has returned."""
        for storages in (self.unwritten, self._workspaces):
            if storages:
                storages.pop(tensor.untyped_storage().data_ptr(), None)
        return self.output(tensor, bumps=1)

    def left_unwritten(self, tensor: torch.Tensor, workspace: bool = False) -> None:
        """An operation put this tensor out and did not write all of it; a `workspace` is read with care."""
        if tensor.numel():
            self._known.pop(tensor.data_ptr(), None)
            storage = tensor.untyped_storage()
            (self._workspaces if workspace else self.unwritten)[storage.data_ptr()] = storage

    def lose(self, storage: torch.UntypedStorage) -> None:
        """Something else wrote there: know nothing of it."""
        start, nbytes = storage.data_ptr(), storage.nbytes()
        self.unwritten.pop(start, None)
        self._workspaces.pop(start, None)
        for address in [address for address in self._known if start <= address < start + nbytes]:
            del self._known[address]

    def is_unwritten(self, tensor: torch.Tensor) -> bool:
        """Whether nothing has written to its memory since it was allocated."""
        return _is_in(self.unwritten, tensor)


def _is_in(storages: dict[int, torch.UntypedStorage], tensor: torch.Tensor) -> bool:
    try:
        return tensor.untyped_storage().data_ptr() in storages
    except (RuntimeError, NotImplementedError):  # sparse and the like have no storage
        return False


def _in_use(storages: dict[int, torch.UntypedStorage]) -> dict[int, torch.UntypedStorage]:
    """Those that anything but us still holds."""
    count: Callable[[int], int] = torch._C._storage_Use_Count
    return {address: storage for address, storage in storages.items() if count(storage._cdata) > 1}
