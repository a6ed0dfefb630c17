"""Digests of tensors on a device, computed there: many tensors, one copy to the host."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch

from samerun.digest.host import find_plain_device, require_memory, view_as_bits
from samerun.digest.keyed import combine, make_tensor_seed
from samerun.digest.layouts import walk
from samerun.digest.mix128 import compute_lanes, finalise, read_signed
from samerun.digest.stream_join import choose_stream_join
from samerun.digest.unobserved import hide_ops
from samerun.errors import DigestError
from samerun.interruption import is_the_scripts

# A dense tensor is a slot; a tensor of another kind is a key and the nodes of its parts; a part that is on
# another device is digested at once.
_Node = int | bytes | tuple[str, Sequence["_Node"]]
_AddLanes = Callable[[torch.Tensor, torch.Tensor, int, int], None]
_AddMany = Callable[[torch.Tensor, torch.Tensor, int, int], bool]
_Entry = tuple[int, int, int]  # address, bytes, seed

_SMALL = 16 << 20  # bytes: a larger tensor fills the device by a launch of its own
_LEAST_MANY = 3
_MOST_MANY = 1 << 15  # a grid of CUDA's has at most 65,535 in its second dimension
_MOST_TABLES = 64


class DeviceSlots:
    """A buffer int64[capacity, 2] on `device` that collects the lanes of many tensors, and is read once.

    `add` starts the work on the current stream of the device and never waits for it. A full buffer is kept
    and a larger one follows. `read` waits for every stream that added.
    """

    def __init__(self, device: torch.device | str, capacity: int = 4096) -> None:
        self._lock = threading.Lock()  # backward runs in threads of its own
        self._nodes: list[_Node] = []
        self._seeds: list[int] = []
        with hide_ops():
            self.device = torch.empty(0, device=device).device  # "cuda" becomes "cuda:0", as tensors say
            self._streams = choose_stream_join(self.device)
            self._add_lanes, self._add_many = _choose_implementation(self.device)
        self._tables: dict[tuple[object, ...], torch.Tensor] = {}
        self._open(capacity)

    def add(self, tensor: torch.Tensor) -> int:
        """Digest `tensor` as it is at this point of the current stream; its index in the list of `read`.

        A tensor on another device is digested at once, which waits for that device. Raises DigestError for a
        tensor that has no bytes, and while a CUDA graph is being captured.
        """
        with self._lock:
            self._refuse_capture()
            if find_plain_device(tensor) == self.device.type and tensor.is_contiguous():
                require_memory(tensor)
                node = self._add_leaf(tensor)
            else:
                node = walk(tensor, self._add_leaf, _join)
            self._nodes.append(node)
            return len(self._nodes) - 1

    @property
    def takes_many(self) -> bool:
        """Whether one launch can digest many tensors here."""
        return self._add_many is not None

    def add_all(self, tensors: Sequence[torch.Tensor]) -> list[int]:
        """As `add` for each of them, with one launch for all that are small and plain."""
        with self._lock:
            self._refuse_capture()
            small = [t for t in tensors if self.is_small(t)] if self.takes_many else []
            entries = [(t.data_ptr(), t.nbytes, make_tensor_seed(t.dtype, t.shape)) for t in small]
            first = self._add_entries(entries)
            rows = {} if first is None else {id(t): first + number for number, t in enumerate(small)}
            for t in tensors:
                number = rows.get(id(t))
                self._nodes.append(walk(t, self._add_leaf, _join) if number is None else number)
            return list(range(len(self._nodes) - len(tensors), len(self._nodes)))

    def add_entries(self, entries: Sequence[_Entry]) -> list[int] | None:
        """Digest what is at these addresses, multiples of 8, by one launch; None where there is none."""
        with self._lock:
            self._refuse_capture()
            first = self._add_entries(entries)
            if first is None:
                return None
            self._nodes += range(first, first + len(entries))
            return list(range(len(self._nodes) - len(entries), len(self._nodes)))

    def is_small(self, t: torch.Tensor) -> bool:
        """Whether it is digested together with others."""
        if find_plain_device(t) != self.device.type or t.device != self.device or not t.is_contiguous():
            return False
        if not 0 < t.nbytes <= _SMALL or t.data_ptr() % 8:
            return False
        try:
            require_memory(t)
        except DigestError:  # `add` raises it
            return False
        return True

    def read(self) -> list[bytes]:
        """The digests of all tensors added since the last read, in order. Waits for the device."""
        with hide_ops(), self._lock:
            rows = self._copy_rows() if self._seeds else []
            digests = [finalise(a, b, seed) for (a, b), seed in zip(rows, self._seeds, strict=True)]
            nodes, self._nodes, self._seeds = self._nodes, [], []
        return [_fold(node, digests) for node in nodes]

    def _open(self, capacity: int) -> None:
        # Not an inference tensor, which could not be written to outside that mode.
        with hide_ops(), torch.inference_mode(False):
            self._buffers = [torch.zeros(capacity, 2, dtype=torch.int64, device=self.device)]
        self._free = capacity
        self._streams.opened()

    def _add_leaf(self, t: torch.Tensor) -> _Node:
        if t.device != self.device:
            from samerun.digest.tensors import digest_any

            return digest_any(t)
        if not self._free:
            self._grow()
        buffer = self._buffers[-1]
        seed = make_tensor_seed(t.dtype, t.shape)
        slot = len(buffer) - self._free
        self._free -= 1  # first: a row that a failed launch may have touched must not be used again
        self._seeds.append(seed)
        node = len(self._seeds) - 1
        if t.numel():
            self._streams.writing()
            self._add_lanes(t if t.is_contiguous() else view_as_bits(t), buffer, slot, seed)
        return node

    def _add_entries(self, entries: Sequence[_Entry]) -> int | None:
        """The number of the first row, None where nothing was added."""
        if not _LEAST_MANY <= len(entries) <= _MOST_MANY or self._add_many is None:
            return None
        while self._free < len(entries):
            self._seeds += [0] * self._free  # rows that nothing is added to
            self._grow()
        buffer = self._buffers[-1]
        first, slot = len(self._seeds), len(buffer) - self._free
        # at once, as in _add_leaf: rows of a launch that failed are not used again
        self._seeds += [seed for _, _, seed in entries]
        self._free -= len(entries)
        self._streams.writing()
        if not self._add_many(self._find_table(entries), buffer, slot, max(size for _, size, _ in entries)):
            self._add_many = None
            return None
        return first

    def _find_table(self, entries: Sequence[_Entry]) -> torch.Tensor:
        """int64[n, 3] on the device: made once for tensors that stay where they are, on each stream."""
        key = (self._streams.name(), *entries)
        table = self._tables.pop(key, None)
        if table is None:
            rows = [[address, nbytes, read_signed(seed)] for address, nbytes, seed in entries]
            with hide_ops(), torch.inference_mode(False):
                pinned = torch.tensor(rows, dtype=torch.int64, pin_memory=self.device.type == "cuda")
                table = pinned.to(self.device, non_blocking=True)
            if len(self._tables) >= _MOST_TABLES:
                del self._tables[next(iter(self._tables))]
        self._tables[key] = table  # the last one
        return table

    def _grow(self) -> None:
        full = self._buffers
        self._open(2 * len(full[-1]))
        self._buffers = [*full, *self._buffers]

    def _copy_rows(self) -> list[list[int]]:
        """The used rows, on the host; what is left is one zeroed buffer with room for as many."""
        self._streams.reading()
        every = self._buffers[0] if len(self._buffers) == 1 else torch.cat(self._buffers)
        rows: list[list[int]] = every[: len(self._seeds)].tolist()
        self._open(len(every))
        return rows

    def _refuse_capture(self) -> None:
        if self.device.type == "cuda" and torch.cuda.is_current_stream_capturing():
            raise DigestError(
                "a CUDA graph is being captured on the current stream: its tensors have no content until the "
                "graph is replayed. Digest them after the replay."
            )


def _join(key: str, parts: Sequence[_Node]) -> _Node:
    return (key, parts)


def _fold(node: _Node, digests: Sequence[bytes]) -> bytes:
    if isinstance(node, int):
        return digests[node]
    if isinstance(node, bytes):
        return node
    key, parts = node
    return combine((_fold(part, digests) for part in parts), key)


def _add_lanes_in_torch(t: torch.Tensor, rows: torch.Tensor, slot: int, seed: int) -> None:
    with hide_ops():
        rows[slot] += compute_lanes(t, seed)


def _choose_implementation(device: torch.device) -> tuple[_AddLanes, _AddMany | None]:
    """The kernels where they run, else torch operations; both give the same lanes."""
    if device.type != "cuda":
        return _add_lanes_in_torch, None
    from samerun.digest.mix128_triton import launch, launch_many

    if launch is None or launch_many is None:
        return _add_lanes_in_torch, None
    return _guard(launch), _guard_many(launch_many)


_kernel_fails = False


def _guard(launch: _AddLanes) -> _AddLanes:
    """The kernel until it cannot be built here (no C compiler, an unknown GPU), then torch operations."""

    def add_lanes(t: torch.Tensor, rows: torch.Tensor, slot: int, seed: int) -> None:
        global _kernel_fails
        if not _kernel_fails:
            try:
                with _launch_on(t.device):
                    launch(t, rows, slot, seed)
                return
            except Exception as error:  # triton raises whatever its compiler does; nothing was added so far
                if is_the_scripts(error):
                    raise
                _kernel_fails = True
        _add_lanes_in_torch(t, rows, slot, seed)

    return add_lanes


def _guard_many(launch: Callable[[torch.Tensor, torch.Tensor, int, int], None]) -> _AddMany:
    """Whether the kernel was launched: not where it cannot be built."""

    def add_lanes(table: torch.Tensor, rows: torch.Tensor, first: int, largest: int) -> bool:
        if _kernel_fails:
            return False
        try:
            with _launch_on(rows.device):
                launch(table, rows, first, largest)
            return True
        except Exception as error:  # as in _guard
            if is_the_scripts(error):
                raise
            return False

    return add_lanes


def _launch_on(device: torch.device) -> AbstractContextManager[object]:
    """Triton launches on the current device, whatever device its arguments are on."""
    return nullcontext() if device.index == torch.cuda.current_device() else torch.cuda.device(device)
