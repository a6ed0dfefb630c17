"""Digests of dense tensors in host memory: xxh3_128 over the raw bytes, keyed by dtype and shape.

`digest_dense` runs thousands of times in a training step, so it makes one pass with no copy, calls no torch
operation, and asks each question about the tensor once.
"""

from __future__ import annotations

import ctypes
from operator import mul
from typing import Any

import torch
from xxhash import xxh3_128_digest

from samerun.digest.keyed import make_tensor_seed
from samerun.errors import DigestError

_dispatch_keys = torch._C._dispatch_keys
storage_address = torch._C._data_address  # type: ignore[attr-defined]  # unlike data_ptr(), does not make a lazy clone real
_dispatch_modes = torch._C._len_torch_dispatch_stack
function_mode_is_on = torch._C._is_torch_function_mode_enabled

_PLAIN_TYPES = frozenset({torch.Tensor, torch.nn.Parameter})
# A tensor with the keys of one of these sets only is a dense array in the memory of that device: not sparse,
# nested, quantized, meta, conjugated, negated, batched by vmap or wrapped in any way.
_PLAIN_KEYS = {
    name.lower(): frozenset({name, "ADInplaceOrView", f"Autograd{name}", f"Autocast{name}"})
    for name in ("CPU", "CUDA", "XPU", "MPS")
}
_MAX_PLANS = 8192  # of dtype and shape; a training with ever new shapes must not grow without end
# Of one plan, and of all: an allocator hands out the same addresses again and again, few of large memory, and
# as many of small memory as a model has small parts.
_MAX_BUFFERS = 128
_MAX_SMALL_BUFFERS = 1 << 16
_MAX_ALL = 1 << 17
_SMALL = 1 << 14  # bytes


class _Buffers(dict[int, Any]):
    """By its address, a stretch of host memory of so many bytes; it holds nothing alive, and is made once."""

    made = 0  # by all, since they were last emptied

    def __init__(self, nbytes: int) -> None:
        self._most = _MAX_SMALL_BUFFERS if nbytes <= _SMALL else _MAX_BUFFERS
        self._at = (ctypes.c_char * nbytes).from_address if nbytes else lambda address: b""

    def __missing__(self, address: int) -> Any:
        if len(self) >= self._most:
            self.clear()
        _Buffers.made += 1
        if _Buffers.made > _MAX_ALL:
            _Buffers.made = 0
            for memory, *_ in _plans.values():
                memory.clear()
        buffer = self[address] = self._at(address)
        return buffer


# All memory that there can be, of which a slice is read with no object made that would outlive it. Nothing is
# touched but what the slice holds.
ALL_MEMORY: Any = memoryview((ctypes.c_char * (1 << 62)).from_address(0))
_names: dict[int, frozenset[str]] = {}
_plain: dict[int, str] = {}
_plans: dict[tuple[torch.dtype, torch.Size], tuple[_Buffers, int, int, int]] = {}


def dispatch_key_names(t: torch.Tensor) -> frozenset[str]:
    """The names of the tensor's dispatch keys, such as "CPU" or "Conjugate"."""
    keys = _dispatch_keys(t)
    names = _names.get(keys.raw_repr())
    if names is None:  # few sets of keys exist
        names = _names[keys.raw_repr()] = frozenset(str(keys).partition("(")[2].rstrip(")").split(", "))
    return names


def _learn_keys(t: torch.Tensor, raw: int) -> str:
    names = dispatch_key_names(t)
    plain = _plain[raw] = next((device for device, keys in _PLAIN_KEYS.items() if names <= keys), "")
    return plain


def find_plain_device(t: torch.Tensor) -> str:
    """The type of the device in whose memory `t` is a plain dense array; "" when it is anything else.

    Also "" while a function mode of the user's would see the questions asked here.
    """
    if type(t) not in _PLAIN_TYPES or function_mode_is_on():
        return ""
    raw = _dispatch_keys(t).raw_repr()
    plain = _plain.get(raw)
    return _learn_keys(t, raw) if plain is None else plain


def plan_reading(t: torch.Tensor) -> tuple[_Buffers, int, int, int]:
    """How to read tensors of this dtype and shape: (address → buffer, bytes, bytes an element, seed)."""
    known = _plans.get((t.dtype, t.shape))
    if known is not None:
        return known
    if len(_plans) >= _MAX_PLANS:
        _plans.clear()
    plan = _plans[t.dtype, t.shape] = (
        _Buffers(t.nbytes),
        t.nbytes,
        t.itemsize,
        make_tensor_seed(t.dtype, t.shape),
    )
    return plan


def digest_dense(t: torch.Tensor) -> bytes:
    """16 bytes for a tensor; the fast path for a plain one on the CPU.

    Any other tensor is digested too, by `samerun.digest.tensors`, with the same result for equal content.
    Raises DigestError for a tensor that has no bytes.
    """
    # As plain_device(t) == "cpu", without the call.
    if (
        type(t) in _PLAIN_TYPES
        and not function_mode_is_on()
        and (_plain.get(raw := _dispatch_keys(t).raw_repr()) or _learn_keys(t, raw)) == "cpu"
    ):
        memory, nbytes, itemsize, seed = _plans.get((t.dtype, t.shape)) or plan_reading(t)
        if t.is_contiguous():
            base = storage_address(t)
            offset = t.storage_offset() * itemsize
            if (base and t.untyped_storage().nbytes() - offset >= nbytes) or not nbytes:
                return xxh3_128_digest(memory[base + offset], seed)
        elif not _dispatch_modes():
            try:
                return digest_strided(t)
            except RuntimeError:  # inside a function transform, or no memory for the copy
                pass  # digest_any says which
    from samerun.digest.tensors import digest_any

    return digest_any(t)


def digest_memory(address: int, nbytes: int, seed: int = 0) -> bytes:
    """16 bytes for a stretch of host memory, which must be the caller's to read, and live."""
    return xxh3_128_digest(ALL_MEMORY[address : address + nbytes], seed)


def digest_strided(t: torch.Tensor) -> bytes:
    """As `digest_dense`, for a dense tensor of any strides, where no dispatch mode can see the copy made.

    Raises DigestError when the tensor has no memory.
    """
    require_memory(t)
    memory, _, _, seed = _plans.get((t.dtype, t.shape)) or plan_reading(t)
    with torch._C._AutoDispatchBelowAutograd():
        bits = view_as_bits(t)
    address = storage_address(bits) + bits.storage_offset() * bits.itemsize
    return xxh3_128_digest(memory[address], seed)


def require_memory(t: torch.Tensor) -> None:
    """Raise DigestError when the storage of a strided tensor does not reach its last element.

    Sharded training frees memory under a live tensor by resizing its storage; some subclasses never had any.
    Reading either would crash the process.
    """
    if t.numel():
        strides = t.stride()
        last = t.storage_offset() + sum(map(mul, t.shape, strides)) - sum(strides)
        if not storage_address(t) or (last + 1) * t.itemsize > t.untyped_storage().nbytes():
            raise _make_no_memory_error(t)


def _make_no_memory_error(t: torch.Tensor) -> DigestError:
    return DigestError(
        f"a {t.dtype} tensor of shape {tuple(t.shape)} has no memory behind it: it is a shell, or its "
        "storage was freed (resize_, as sharded training does). Digest it while it is materialised."
    )


_SAME_SIZE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def view_as_bits(t: torch.Tensor) -> torch.Tensor:
    """The bits of a dense tensor as contiguous integers on its device.

    The tensor has no conjugate or negative bit. As integers, so that a copy keeps the payload of every NaN,
    and works for dtypes that torch cannot copy.
    """
    if t.itemsize == 16:
        t = torch.view_as_real(t)
    return t.view(_SAME_SIZE[t.itemsize]).contiguous()
