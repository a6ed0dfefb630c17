"""What a variable holds, as a number or a short digest, without running any code of the value's own."""

from __future__ import annotations

import datetime
import decimal
import hashlib
import io
import pathlib
import sys
import types
import uuid
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

Value = int | float | bytes | None  # None: it cannot be told

_DEEPEST = 4
_MOST = 4096  # parts of one object that are looked at, each with its own
_MOST_BYTES = 1 << 20  # of one array; of a longer one, so many from both ends
_TEXTS = (  # what its `repr` tells whole
    type(None),
    bool,
    int,
    float,
    str,
    bytes,
    bytearray,
    datetime.datetime,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    decimal.Decimal,
    uuid.UUID,
    complex,
    range,
    slice,
    pathlib.PosixPath,
    pathlib.PurePosixPath,
)
_SEQUENCES: tuple[Any, ...] = (list, tuple, deque)
_SETS: tuple[Any, ...] = (set, frozenset)
_MAPPINGS: tuple[Any, ...] = (dict, types.MappingProxyType)
# What says nothing by its attributes, or too much.
_OPAQUE = (type, types.ModuleType, types.FunctionType, types.MethodType, types.GeneratorType, types.FrameType)
# How the digests begin of what holds tensors, of generators, and of sets.
TENSOR, GENERATOR, SET = b"T", b"G", b"S"


class Values:
    """Tells what values are; the digests of tensors are kept until they are written to."""

    def __init__(self) -> None:
        self._tensors: dict[int, tuple[Any, int, bytes]] = {}
        self._left = 0

    def tell(self, value: object) -> Value:
        """The number itself, or the digest of whatever else; None where nothing can be told of it."""
        self._left = _MOST
        try:
            return self._tell(value, 0)
        except Exception:  # another thread changes it, or it is a stranger's object; nothing is told then
            return None

    def _tell(self, value: Any, depth: int) -> Value:
        kind = type(value)
        if kind is int and -(1 << 62) < value < 1 << 62:
            return int(value)
        if kind is float and value == value:
            return float(value)
        if kind in (str, bytes) and len(value) > _MOST_BYTES:
            value = value[: _MOST_BYTES // 2] + value[-_MOST_BYTES // 2 :]
        if kind in _TEXTS:
            return _shorten(f"{kind.__name__} {value!r}".encode())
        if depth >= _DEEPEST or issubclass(kind, _OPAQUE):
            return None
        for base in _SEQUENCES:
            if issubclass(kind, base):  # by its base's own methods: those of a subclass are the user's code
                name = f"{kind.__name__} {deque.maxlen.__get__(value)}" if base is deque else kind.__name__
                return self._tell_parts(name, base.__len__(value), base.__iter__(value), depth)
        for base in _SETS:
            if issubclass(kind, base):
                return self._tell_set(list(base.__iter__(value)), depth)
        for base in _MAPPINGS:
            if issubclass(kind, base):
                return self._tell_parts(kind.__name__, base.__len__(value), _flatten(base, value), depth)
        return self._tell_other(value, kind, depth)

    def _tell_parts(self, name: str, count: int, parts: Any, depth: int) -> Value:
        hashed, mark = hashlib.blake2b(f"{name} {count}".encode(), digest_size=8), b""
        for part in parts:
            self._left -= 1
            if self._left < 0:
                break
            told = self._tell(part, depth + 1)
            if type(told) is bytes and len(told) == 9:
                mark = mark or told[:1]
            hashed.update(repr(told).encode())
        return mark + hashed.digest()

    def _tell_set(self, parts: list[Any], depth: int) -> Value:
        """What it holds, then in which order it gives that: runs can differ in the second alone."""
        self._left -= len(parts)
        if self._left < 0:
            return None
        told = [repr(self._tell(part, depth + 1)).encode() for part in parts]
        return SET + _shorten(b" ".join(sorted(told))) + _shorten(b" ".join(told))

    def _tell_other(self, value: Any, kind: type, depth: int) -> Value:
        library = kind.__module__.partition(".")[0]
        tell = _LIBRARIES.get(library)
        module = sys.modules.get(library)
        if tell is not None and module is not None:
            return tell(self, module, value, kind)
        torch = sys.modules.get("torch")
        if torch is not None and hasattr(torch, "nn") and issubclass(kind, torch.nn.Module):
            return self._tell_module(value, depth)
        return None if library in _SILENT else self._tell_object(value, kind, depth)

    def _tell_of_random(self, random: Any, value: Any, kind: type) -> Value:
        return GENERATOR + _shorten(repr(value.getstate()).encode()) if kind is random.Random else None

    def _tell_of_torch(self, torch: Any, value: Any, kind: type) -> Value:
        if kind in (torch.Tensor, torch.nn.Parameter):
            return self._tell_tensor(torch, value)
        if kind is torch.Generator:
            return GENERATOR + _shorten(bytes(value.get_state().numpy()))
        return self._tell_module(value, 0) if issubclass(kind, torch.nn.Module) else None

    def _tell_of_numpy(self, numpy: Any, value: Any, kind: type) -> Value:
        if kind is numpy.ndarray:
            return None if value.dtype.hasobject else TENSOR + _shorten(_read_array(value))
        if issubclass(kind, numpy.generic):
            return self._tell(value.item(), 1)
        generates = kind.__module__.startswith("numpy.random")
        return GENERATOR + _shorten(_write_generator(value)) if generates else None

    def _tell_of_pandas(self, pandas: Any, value: Any, kind: type) -> Value:
        if kind not in (pandas.DataFrame, pandas.Series):
            return None
        hashes = pandas.util.hash_pandas_object(value.iloc[:_MOST])
        return TENSOR + _shorten(str(value.shape).encode() + hashes.to_numpy().tobytes())

    def _tell_of_polars(self, polars: Any, value: Any, kind: type) -> Value:
        if kind is polars.Series:
            value = value.to_frame()
        elif kind is not polars.DataFrame:
            return None
        file = io.BytesIO()
        value.head(_MOST).write_ipc(file)
        return TENSOR + _shorten(str(value.shape).encode() + file.getvalue())

    def _tell_object(self, value: Any, kind: type, depth: int) -> Value:
        """An object by its attributes; those of pandas hold its arrays there too."""
        held = object.__getattribute__(value, "__dict__") if hasattr(kind, "__dict__") else None
        if type(held) is not dict or not held:
            return None
        return self._tell_parts(kind.__qualname__, len(held), _flatten(dict, held), depth)

    def _tell_module(self, module: Any, depth: int) -> Value:
        """A module by its tensors."""
        held = object.__getattribute__(module, "__dict__")
        parts = [part for name in ("_parameters", "_buffers", "_modules") for part in held[name].values()]
        there = [part for part in parts if part is not None]
        told = self._tell_parts("module", len(there), there, min(depth, 1) - 1)
        return TENSOR + told[-8:] if type(told) is bytes else told

    def _tell_tensor(self, torch: Any, tensor: Any) -> Value:
        if tensor.layout is not torch.strided or tensor.device.type == "meta" or _is_wrapped(torch, tensor):
            return None
        key, version = id(tensor), (-1 if tensor.is_inference() else tensor._version)
        known = self._tensors.get(key)
        if known is not None and known[0]() is tensor and known[1] == version >= 0:
            return known[2]
        from samerun.digest.unobserved import hide_ops

        with hide_ops(), torch.no_grad():
            host = tensor.detach()
            if tensor.numel() * tensor.element_size() > _MOST_BYTES:
                flat = host.reshape(-1)
                half = _MOST_BYTES // tensor.element_size() // 2
                host = torch.cat((flat[:half], flat[-half:]))
            host = host.cpu().contiguous().reshape(-1).view(torch.uint8)
            told = TENSOR + _shorten(str(tuple(tensor.shape)).encode() + host.numpy().tobytes())
        self._tensors[key] = weakref.ref(tensor, lambda _: self._tensors.pop(key, None)), version, told
        return told


# How what a library's classes hold is told; nothing is told of the others of these libraries.
_LIBRARIES: dict[str, Callable[[Values, Any, Any, type], Value]] = {
    "random": Values._tell_of_random,
    "torch": Values._tell_of_torch,
    "numpy": Values._tell_of_numpy,
    "pandas": Values._tell_of_pandas,
    "polars": Values._tell_of_polars,
}
# Nothing is told of these: what they hold is locks, pipes, numbers of processes and addresses.
_SILENT = {
    "os",
    "io",
    "_io",
    "threading",
    "queue",
    "multiprocessing",
    "asyncio",
    "concurrent",
    "logging",
    "subprocess",
    "socket",
    "ctypes",
    "tempfile",
}


def _shorten(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=8).digest()


def _flatten(base: Any, mapping: Any) -> Any:
    for key, value in base.items(mapping):
        yield key
        yield value


def _read_array(array: Any) -> bytes:
    head = f"{array.dtype.str} {array.shape}".encode()
    if array.nbytes <= _MOST_BYTES:
        return head + bytes(array.tobytes())
    half = _MOST_BYTES // array.itemsize // 2
    return bytes(head + array.flat[:half].tobytes() + array.flat[-half:].tobytes())


def _write_generator(generator: Any) -> bytes:
    if hasattr(generator, "spawn_key"):  # a SeedSequence
        return repr(generator.state).encode()
    bits = getattr(generator, "bit_generator", None)
    state = bits.state if bits is not None else generator.get_state(legacy=False)
    return repr([(key, _write_part(part)) for key, part in state.items()]).encode()


def _write_part(part: Any) -> object:
    if isinstance(part, dict):
        return [(key, _write_part(value)) for key, value in part.items()]
    return part.tobytes() if hasattr(part, "tobytes") else part


def _is_wrapped(torch: Any, tensor: Any) -> bool:
    """Whether torch.func holds it while it transforms a function: it has no memory of its own then."""
    return bool(torch._C._functorch.is_functorch_wrapped_tensor(tensor))
