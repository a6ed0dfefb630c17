"""Finds writes that went past torch: by NumPy, a pointer, DLPack, an extension, another thread.

In a window of tier ops every tensor is hashed again when an operation reads it, and once more when that has
returned. Memory that holds anything else than what was last seen there, with no operation in between that
wrote to it, has a gap in its history. It is written as a row of evidence right before the record that met it.
See docs/decisions/0008.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import torch

from samerun.digest.host import digest_memory, find_plain_device
from samerun.digest.keyed import make_tensor_seed
from samerun.recording.ops.digest_cache import Memory, weakly
from samerun.recording.trace import tensor_digests as digests
from samerun.recording.trace.tensor_digests import FINGERPRINT, Slot, Tensors

_BLOCK = 1 << 20  # bytes: of a larger tensor, only the blocks under a view are hashed again for the view
_VIEWS = 64  # of one memory that are known one by one
_UNWRITTEN = 1 << 28  # bytes: of larger memory that nothing wrote, it is not found out when something does
_MOST = 20_000  # rows of one process

Named = tuple[str, torch.Tensor]
_Key = tuple[int, torch.dtype, torch.Size, tuple[int, ...]]


class Place(NamedTuple):
    """Where in the program something happened to memory."""

    op: str
    module: str | None
    site: str | None
    step: int


class Read(NamedTuple):
    """A tensor that an operation was given, and its digest then."""

    tensor: torch.Tensor
    digest: bytes | Slot


class ExternalWrite(NamedTuple):
    """A gap, on its way to the trace; `apart` are digests on a device: it is none when they are equal."""

    place: Place
    digest: bytes | None
    detail: dict[str, Any]
    apart: tuple[bytes | Slot, bytes | Slot] | None = None


class _Snapshot:
    """A tensor as it was when last seen."""

    __slots__ = ("blocks", "digest", "end", "raw", "seed", "start")

    def __init__(self, tensor: torch.Tensor, digest: bytes | Slot) -> None:
        self.digest = digest
        self.start = tensor.data_ptr()
        self.end = self.start + _measure_span(tensor)
        self.raw: bytes | None = None  # the digest of its bytes as they lie, under `seed`; None: not known
        self.seed = 0
        self.blocks: list[bytes] | None = None
        if isinstance(digest, bytes):
            if tensor.is_contiguous():
                self.raw, self.seed = digest, make_tensor_seed(tensor.dtype, tensor.shape)
            elif self.end - self.start == tensor.nbytes:
                self.raw = digest_memory(self.start, tensor.nbytes)

    def holds(self, start: int, end: int) -> bool:
        """Whether the bytes from `start` to `end`, a part of this tensor, are as they were."""
        if self.blocks is None:
            if digest_memory(self.start, self.end - self.start, self.seed) != self.raw:
                return False
            if self.end - self.start > max(_BLOCK, 2 * (end - start)):
                self.blocks = [self._block(number) for number in range(self._number(self.end - 1) + 1)]
            return True
        among = range(self._number(start), self._number(end - 1) + 1)
        return all(self.blocks[number] == self._block(number) for number in among)

    def _number(self, address: int) -> int:
        return (address - self.start) // _BLOCK

    def _block(self, number: int) -> bytes:
        start = self.start + number * _BLOCK
        return digest_memory(start, min(_BLOCK, self.end - start))


class _History:
    """What is known of one storage since the last operation that wrote to it."""

    __slots__ = ("_ref", "address", "gap", "held", "met", "seen", "views", "written")

    def __init__(self, storage: torch.UntypedStorage) -> None:
        self._ref = weakly(storage)  # while it is there, no other storage has the address of this one
        self.address = storage.data_ptr()
        self.views: dict[_Key, _Snapshot] = {}
        self.written: Place | None = None  # the operation that last put it out
        self.seen: Place | None = None  # the one that last found it as it was
        self.gap: dict[str, Any] | None = None  # what was met last, until the memory is written anew
        self.met = 0  # by which operation it was told, counted by Watch
        self.held = False  # another thread is at work there, as it should be

    def gone(self) -> bool:
        """Whether nobody holds the storage any more."""
        return bool(self._ref.expired())

    def moved(self, storage: torch.UntypedStorage) -> bool:
        """Whether it has other memory than before (share_memory_, resize_)."""
        return storage.data_ptr() != self.address

    def cover(self, start: int, end: int) -> _Snapshot | None:
        """A tensor that these bytes are a part of, the smallest one known."""
        found = [seen for seen in self.views.values() if seen.raw and seen.start <= start and end <= seen.end]
        return min(found, key=lambda seen: seen.end - seen.start, default=None)


class Watch:
    """Holds what operations read against what was last seen there."""

    def __init__(
        self, tensors: Tensors, memory: Memory, names: Sequence[Callable[[], Iterable[Named]]]
    ) -> None:
        self._on = False
        self._next = False  # whether it is on from the next step
        self._alone = True  # whether one thread trains
        self._tensors = tensors
        self._memory = memory
        self._names = names
        self._histories: dict[int, _History] = {}
        self._at: dict[int, list[_History]] = {}  # by address: NumPy's memory can be brought in twice
        self._met: list[ExternalWrite] = []
        self._called: dict[int, str] | None = None  # names by storage; on a device, as of the last record
        self._turn = 1  # counts operations
        self._count = 0

    # --- around an operation -----------------------------------------------------------------------

    def read(self, tensor: torch.Tensor, here: Place) -> bytes | Slot | None:
        """An operation is about to read this; its digest, None where it has no memory of its own."""
        if not find_plain_device(tensor) or not tensor.numel():
            return None
        fresh = self._tensors.digest(tensor)
        if not self._alone:
            return fresh
        history, key = self._history(tensor)
        if history.held:
            return fresh
        if fresh == FINGERPRINT:  # a shell, whose memory was freed
            history.views.clear()
            return fresh
        known = history.views.get(key)
        if known is not None and known.digest == fresh and history.gap is None:  # mostly
            history.seen = here
            return fresh
        self._compare(history, known, Read(tensor, fresh), here)
        if history.gap is not None and history.met != self._turn:  # by another operation than the first
            history.met = self._turn
            self._note(here, fresh, history.gap)
        history.seen = here
        if known is not None or len(history.views) < _VIEWS:
            history.views[key] = _Snapshot(tensor, fresh)
        return fresh

    def left(self, read: Iterable[Read], here: Place, may_write: bool) -> None:
        """An operation that read these has returned; with `may_write`, it can have written to them unsaid."""
        if not self._alone:
            return
        for tensor, before in read:
            if not digests.is_on_host(tensor) or (fresh := self._tensors.digest(tensor)) == before:
                continue
            history, key = self._history(tensor)
            known = history.views.get(key)
            if known is None or known.digest == fresh:
                continue
            if may_write:
                self._memory.lose(tensor.untyped_storage())
                self.wrote(tensor, fresh, here)
            else:
                self._gap(history, tensor, here, fresh)
                history.views[key] = _Snapshot(tensor, fresh)

    def wrote(self, tensor: torch.Tensor, digest: bytes | Slot, here: Place) -> None:
        """An operation put this tensor out, or wrote to it."""
        if not self._alone or not find_plain_device(tensor) or not tensor.numel():
            return
        history, key = self._history(tensor)
        start = tensor.data_ptr()
        end = start + _measure_span(tensor)
        for other in self._at[history.address]:
            if other.views:
                views = other.views.items()
                other.views = {view: was for view, was in views if was.end <= start or end <= was.start}
            if not other.views:
                other.gap = None
            other.written = other.seen = here
        if not history.held and digest != FINGERPRINT:
            if len(history.views) >= _VIEWS:  # each element by itself, in a loop: the last ones stay known
                del history.views[next(iter(history.views))]
            history.views[key] = _Snapshot(tensor, digest)

    def left_unwritten(self, tensor: torch.Tensor, here: Place) -> None:
        """An operation put this tensor out and wrote nothing to it: what it holds now is what it held."""
        if digests.is_on_host(tensor) and find_plain_device(tensor) and tensor.nbytes <= _UNWRITTEN:
            self.wrote(tensor, self._tensors.digest(tensor), here)

    def enters(self, tensor: torch.Tensor, here: Place) -> None:
        """Memory comes into torch here, unless it was there already."""
        if self._alone and self.read(tensor, here) is not None:
            history, _ = self._history(tensor)
            history.written = history.written or here

    def recorded(self, what: str, tensors: Iterable[torch.Tensor], site: str | None, step: int) -> None:
        """A hook records these tensors."""
        self._called = None  # gradients are others in each step
        if self._on:
            for tensor in tensors:
                self.read(tensor, Place(what, None, site, step))

    def stepped(self, name: str, tensors: Iterable[torch.Tensor], site: str | None, step: int) -> None:
        """An optimizer's step, the last one before the window, left these tensors so."""
        if self._next:
            for tensor in tensors:
                if find_plain_device(tensor):
                    self.wrote(tensor, self._tensors.digest(tensor), Place(name, None, site, step))

    def hold(self, tensor: torch.Tensor) -> None:
        """Another thread carries out an operation on this memory, to the end of the step at the latest."""
        if self._alone and find_plain_device(tensor) and tensor.numel():
            history, _ = self._history(tensor)
            history.held = True
            history.views.clear()

    def take(self) -> list[ExternalWrite]:
        """The gaps met by an operation; the next one begins."""
        met, self._met = self._met, []
        self._turn += 1
        return met

    def forget(self) -> None:
        """At the end of a step: what became of memory that is gone."""
        if not self._alone:
            return
        self._histories = {key: kept for key, kept in self._histories.items() if not kept.gone()}
        self._at = {}
        for history in self._histories.values():
            history.held = False
            self._at.setdefault(history.address, []).append(history)

    def turn(self, on: bool, next_: bool) -> None:
        """Whether operations are seen from here on, or from the next step on."""
        if not self._alone:
            return
        if not on:
            self._histories.clear()
            self._at.clear()
        self._on, self._next = on, next_

    def leave_alone(self) -> None:
        """Several threads train: what one finds changed is what another one did.

        Nothing is looked up any more, since another thread may be at work on any tensor, or free it.
        """
        self._alone = self._on = self._next = False

    # --- what is known -----------------------------------------------------------------------------

    def _history(self, tensor: torch.Tensor) -> tuple[_History, _Key]:
        storage = tensor.untyped_storage()
        history = self._histories.get(storage._cdata)
        if history is None or history.moved(storage):  # what is held weakly is no other storage
            history = self._histories[storage._cdata] = _History(storage)
            there = self._at.get(history.address, ())
            self._at[history.address] = [*(other for other in there if not other.gone()), history]
        return history, (tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())

    def _covered(self, history: _History, tensor: torch.Tensor) -> bool:
        """Whether a tensor that this one is a part of is as it was; True when none is known."""
        if not digests.is_on_host(tensor):
            return True
        start = tensor.data_ptr()
        end = start + _measure_span(tensor)
        cover = history.cover(start, end)
        if cover is None:
            return True
        storage = tensor.untyped_storage()
        if cover.end > storage.data_ptr() + storage.nbytes():  # it has shrunk
            history.views.clear()
            return True
        return cover.holds(start, end)

    # --- gaps --------------------------------------------------------------------------------------

    def _compare(self, history: _History, known: _Snapshot | None, read: Read, here: Place) -> None:
        """Note a gap where memory holds anything else than what was last seen there."""
        tensor, fresh = read
        if known is None:
            if not self._covered(history, tensor):
                self._gap(history, tensor, here, fresh)
        elif isinstance(fresh, Slot) or isinstance(known.digest, Slot):
            self._met.append(ExternalWrite(here, None, self._detail(history, tensor), (known.digest, fresh)))
        elif known.digest != fresh:
            self._gap(history, tensor, here, fresh)

    def _gap(self, history: _History, tensor: torch.Tensor, here: Place, fresh: bytes | Slot) -> None:
        self._memory.lose(tensor.untyped_storage())
        history.views.clear()
        history.gap = self._detail(history, tensor)
        history.met = self._turn
        self._note(here, fresh, history.gap)

    def _note(self, here: Place, fresh: bytes | Slot, detail: dict[str, Any]) -> None:
        self._count += 1
        if self._count <= _MOST and isinstance(fresh, bytes):
            self._met.append(ExternalWrite(here, fresh, detail))

    def _detail(self, history: _History, tensor: torch.Tensor) -> dict[str, Any]:
        written, seen = history.written, history.seen
        return {
            "written_by": None if written is None else written.op,
            "written_module": None if written is None else written.module,
            "written_at": None if written is None else written.site,
            "written_step": None if written is None else written.step,
            "seen_by": None if seen is None else seen.op,
            "seen_at": None if seen is None else seen.site,
            "tensor": self._name(tensor),
        }

    def _name(self, tensor: torch.Tensor) -> str | None:
        """What a model or an optimizer calls the tensor that has this memory."""
        storage = tensor.untyped_storage()._cdata
        if self._called is None or (storage not in self._called and digests.is_on_host(tensor)):
            self._called = {
                known.untyped_storage()._cdata: name
                for named in reversed(self._names)
                for name, known in named()
                if find_plain_device(known)
            }
        return self._called.get(storage)


def _measure_span(tensor: torch.Tensor) -> int:
    """Bytes from the first element to the last."""
    if tensor.is_contiguous():
        return tensor.nbytes
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return (last + 1) * tensor.itemsize
