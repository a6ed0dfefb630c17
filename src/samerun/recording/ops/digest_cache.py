"""What is known of the memory of tensors: the digests that operations left there, as long as they hold.

An input is not hashed again when an operation of the same step put it out, unchanged since (same storage,
address, size and version counter): its digest is known, and that of any view of it. See docs/decisions/0002.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from xxhash import xxh3_128_digest

from samerun.digest.host import digest_memory, find_plain_device, function_mode_is_on, storage_address
from samerun.digest.same_layout import Layout
from samerun.digest.unobserved import hide_ops
from samerun.interruption import is_the_scripts
from samerun.recording.trace import tensor_digests as digests
from samerun.recording.trace.tensor_digests import Slot, Tensors

_GARBAGE = bytes(16)  # stands for memory that nothing has written: equal in two runs, whatever it holds

_MOST_VIEWS = 4096
_MOST_HELD = 20_000
_MOST_LIKES = 8192  # a training with ever new shapes must not grow without end
_MOST_TIMES = 4  # that one kind is learnt, which comes with several strides
_PLAIN = frozenset({torch.Tensor, torch.nn.Parameter})

# Holds on to the name of a storage, not to its memory: while it is there, no other storage has that name.
weakly: Callable[[torch.UntypedStorage], Any] = StorageWeakRef
_is_gone: Callable[[int], Any] = torch.UntypedStorage._expired
_let_go: Callable[[int], None] = torch.UntypedStorage._free_weak_ref

_View = tuple[Any, torch.Size, tuple[int, ...]]
_Kind = tuple[type, torch.dtype, torch.Size]


class _Entry:
    """What was left at an address, true as long as nothing is written there.

    One is made for each tensor that a step puts out, and serves in all steps: to make it anew each time would
    keep Python's collector of garbage busy.
    """

    __slots__ = ("digest", "hold", "like", "nbytes", "shape", "stride", "version")

    def __init__(self, like: Layout | None, nbytes: int, shape: torch.Size, stride: tuple[int, ...]) -> None:
        self.like = like  # None where only a tensor's size and strides tell whether it is the same
        self.nbytes = nbytes
        self.shape = shape
        self.stride = stride
        self.version = -1
        self.hold = 0  # the number of the hold on its storage
        self.digest: bytes | Slot = b""

    def says(self, version: int, hold: int, digest: bytes | Slot) -> _Entry:
        """That this digest was left, when the version counter was there."""
        self.version, self.hold, self.digest = version, hold, digest
        return self

    def is_of(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor, which looks at the same memory, looks at all of it, and in the same way."""
        if self.like is not None and self.like.check(tensor):
            return True
        return self.shape == tensor.shape and self.stride == tensor.stride() and self.nbytes == tensor.nbytes


class Memory:
    """Digests inputs and outputs, and remembers what it need not hash again."""

    def __init__(self, tensors: Tensors) -> None:
        self._tensors = tensors
        self._known: dict[int, _Entry] = {}
        # Weak references, by name, each with a number of its own: an address is used anew by memory that
        # comes past the dispatcher.
        self._held: dict[int, int] = {}
        self._holds = 0
        self._touched: list[int] = []  # names of the storages of the last operation
        self._views: dict[_View, bytes] = {}
        self._likes: dict[_Kind, Layout] = {}
        self._learnt: Counter[_Kind] = Counter()
        self._expected: list[_Entry] = []  # of the tensors that were put out, in the order of the last step
        self._places = itertools.count()  # in this step: threads must not share one
        self.unwritten: dict[int, torch.UntypedStorage] = {}  # kept alive: its address stays its own
        self._workspaces: dict[int, torch.UntypedStorage] = {}  # likewise

    def forget(self) -> None:
        """At the end of a step."""
        self.doubt()
        self._places = itertools.count()
        self.unwritten = _select_in_use(self.unwritten)
        self._workspaces = _select_in_use(self._workspaces)

    def doubt(self) -> None:
        """Know no digest any more: memory may have been written, or used anew, past the dispatcher."""
        self._known.clear()
        held, self._held = self._held, {}
        for name in held:
            _let_go(name)
        self._touched.clear()

    def settle(self) -> None:
        """Before an operation: let go of the storages that went since the last one.

        Most go right after their last use. The few bytes of a storage that is held lie between the blocks
        that were freed, which then cannot become one: the heap grows, is given back at the end of the step,
        and is made anew by the kernel, page by page, in the next.
        """
        held, touched = self._held, self._touched
        for name in touched:
            if name in held and _is_gone(name) and held.pop(name, None) is not None:
                _let_go(name)
        touched.clear()

    def input(self, tensor: torch.Tensor) -> bytes | Slot:
        """The digest of what an operation is about to read."""
        if self.unwritten and self.is_unwritten(tensor):
            return _GARBAGE
        if self._workspaces and _is_in(self._workspaces, tensor):
            return _GARBAGE
        try:
            name = tensor.untyped_storage()._cdata
            self._touched.append(name)
            known = self._known.get(tensor.data_ptr())
            if known is not None and known.version == tensor._version and known.hold == self._held.get(name):
                if known.is_of(tensor):
                    return known.digest
                if known.nbytes == tensor.nbytes:
                    digest = known.digest
                    return self._view(tensor, digest) if type(digest) is bytes else self.output(tensor)
            whole = self._whole(tensor)
            if type(whole) is bytes:
                return self._view(tensor, whole)
        except (RuntimeError, NotImplementedError):  # no storage, or an inference tensor without a version
            pass
        return self.output(tensor)

    def _whole(self, tensor: torch.Tensor) -> bytes | Slot | None:
        """The digest of the whole memory that a tensor is a part of, where it is known.

        All of it is read when the tensor is a transposed view of all of it: that saves the copy.
        """
        storage = tensor.untyped_storage()
        address, nbytes = storage.data_ptr(), storage.nbytes()
        known = self._known.get(address)
        if (
            known is not None
            and known.nbytes == nbytes
            and known.version == tensor._version
            and known.hold == self._held.get(storage._cdata)
        ):
            return known.digest
        if nbytes == tensor.nbytes and not tensor.is_contiguous() and find_plain_device(tensor) == "cpu":
            digest = digest_memory(address, nbytes)
            known = _Entry(None, nbytes, torch.Size([nbytes]), (1,))
            self._known[address] = known.says(tensor._version, self._hold(storage), digest)
            return digest
        return None

    def _view(self, tensor: torch.Tensor, whole: bytes) -> bytes:
        """The digest of a view, from that of the memory that it looks into."""
        view = tensor.storage_offset(), tensor.shape, tensor.stride()
        text = self._views.get(view)
        if text is None:
            if len(self._views) >= _MOST_VIEWS:
                self._views.clear()
            text = self._views[view] = "{}{}{}".format(*view).encode()
        return xxh3_128_digest(whole + text)

    def _hold(self, storage: torch.UntypedStorage) -> int:
        """The number of the hold on a storage, whose name is no other's as long as that lasts."""
        name: int = storage._cdata
        self._touched.append(name)
        hold = self._held.get(name)
        if hold is None:
            if len(self._held) >= _MOST_HELD:
                self.doubt()
            storage._weak_ref()
            hold = self._holds = self._holds + 1
            self._held[name] = hold
        return hold

    def storage(self, storage: torch.UntypedStorage) -> bytes | Slot:
        """The digest of all the bytes of a storage that an operation is given, whatever wrote them."""
        if storage.device.type == "meta" or not _get_address(storage) or not storage.nbytes():
            return digests.NOTHING
        if storage.data_ptr() in self.unwritten:
            return _GARBAGE
        if storage.device.type == "cpu":
            return digest_memory(storage.data_ptr(), storage.nbytes())
        with hide_ops():
            whole = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
            return self._tensors.digest(whole)

    def output(self, tensor: torch.Tensor, bumps: int = 0) -> bytes | Slot:
        """Digest a tensor, and know it from here on, when its version counter has gone `bumps` further."""
        digest: bytes | Slot
        try:
            if type(tensor) in _PLAIN and not function_mode_is_on():
                # what came at this place in the last step tells of most, at a fraction of the price
                at = next(self._places)
                known = self._expected[at] if at < len(self._expected) else None
                if known is None or (like := known.like) is None or not like.check(tensor):
                    known = self._expect(tensor, at)
                if known is not None and (like := known.like) is not None:
                    storage = tensor.untyped_storage()
                    base, offset = storage_address(tensor), tensor.storage_offset() * like.itemsize
                    if base and storage.nbytes() - offset >= like.nbytes:
                        hold, address = self._hold(storage), base + offset
                        digest = xxh3_128_digest(like.memory[address], like.seed)
                        self._known[address] = known.says(tensor._version + bumps, hold, digest)
                        return digest
        except (RuntimeError, NotImplementedError):  # an inference tensor, which has no version
            pass
        digest = self._tensors.digest(tensor)
        try:
            known = _Entry(None, tensor.nbytes, tensor.shape, tensor.stride())
            known.says(tensor._version + bumps, self._hold(tensor.untyped_storage()), digest)
            self._known[tensor.data_ptr()] = known
        except (RuntimeError, NotImplementedError):
            pass
        return digest

    def _expect(self, tensor: torch.Tensor, at: int) -> _Entry | None:
        """How to read a plain tensor, the one of this number in this step, when one like it is known."""
        kind = type(tensor), tensor.dtype, tensor.shape
        like = self._likes.get(kind)
        if like is None or not like.check(tensor):
            self._learn(tensor, kind)
            return None
        known = _Entry(like, like.nbytes, like.shape, like.stride)
        if at < len(self._expected):
            self._expected[at] = known
        elif at < _MOST_LIKES:
            self._expected.append(known)
        return known

    def _learn(self, tensor: torch.Tensor, kind: _Kind) -> None:
        """Be quicker with the next tensor like this one."""
        if len(self._learnt) >= _MOST_LIKES:
            self._likes.clear()
            self._learnt.clear()
        self._learnt[kind] += 1
        if self._learnt[kind] <= _MOST_TIMES and digests.is_on_host(tensor):
            like = Layout.of(tensor)
            if like is not None:
                self._likes[kind] = like

    def written(self, tensors: Sequence[torch.Tensor]) -> None:
        """An operation wrote to these in place."""
        for storages in (self.unwritten, self._workspaces):
            if storages:
                for tensor in tensors:
                    if (storage := get_storage(tensor)) is not None:
                        storages.pop(storage.data_ptr(), None)

    def left_unwritten(self, tensor: torch.Tensor, workspace: bool = False) -> None:
        """An operation put this tensor out and did not write all of it; a `workspace` is read with care."""
        storage = get_storage(tensor)
        if storage is not None and tensor.numel():
            self._known.pop(tensor.data_ptr(), None)
            (self._workspaces if workspace else self.unwritten)[storage.data_ptr()] = storage

    def overwrites(self, storage: torch.UntypedStorage) -> None:
        """A copy is about to be made into all of it: what it holds until then is nobody's."""
        if storage.device.type != "meta" and _get_address(storage) and storage.nbytes():
            self.lose(storage)
            self.unwritten[storage.data_ptr()] = storage

    def overwritten(self, storage: torch.UntypedStorage) -> None:
        """That copy was made, or refused."""
        if storage.device.type != "meta":
            self.unwritten.pop(_get_address(storage), None)

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


def get_storage(tensor: torch.Tensor) -> torch.UntypedStorage | None:
    """What holds the bytes of a tensor; None for those that are sparse, fake and the like."""
    try:
        storage = tensor.untyped_storage()
        storage.data_ptr()
        return storage
    except Exception as error:  # a subclass's own code raises what it likes
        if is_the_scripts(error):
            raise
        return None


def _get_address(storage: torch.UntypedStorage) -> int:
    """Where it begins, 0 where it is nowhere: that of a fake tensor."""
    try:
        return storage.data_ptr()
    except RuntimeError:
        return 0


def _is_in(storages: dict[int, torch.UntypedStorage], tensor: torch.Tensor) -> bool:
    storage = get_storage(tensor)
    return storage is not None and storage.data_ptr() in storages


def _select_in_use(storages: dict[int, torch.UntypedStorage]) -> dict[int, torch.UntypedStorage]:
    """Those that anything but us still holds."""
    count: Callable[[int], int] = torch._C._storage_Use_Count
    return {address: storage for address, storage in storages.items() if count(storage._cdata) > 1}
