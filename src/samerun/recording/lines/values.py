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

from samerun.runs.followed import GENERATOR, SET, TENSOR, Value, is_data

_DEEPEST = 4
_MOST = 4096  # parts of one object that are looked at, each with its own
_MOST_BYTES = 1 << 20  # of one array; of a longer one, so many from both ends
_TEXTS = (  # what its `repr` says whole
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
_CONTAINERS = (*_SEQUENCES, *_SETS, *_MAPPINGS)
# What says nothing by its attributes, or too much.
_OPAQUE = (type, types.ModuleType, types.FunctionType, types.MethodType, types.GeneratorType, types.FrameType)


class Values:
    """Summarises values; the digests of tensors are kept until they are written to."""

    def __init__(self) -> None:
        self._tensors: dict[int, tuple[Any, int, bytes]] = {}
        self._left = 0

    def summarise(self, value: object) -> Value:
        """The number itself, or the digest of whatever else; None where it is not known."""
        self._left = _MOST
        try:
            return self._summarise(value, 0)
        except Exception:  # another thread changes it, or it is a stranger's object: not known then
            return None

    def _summarise(self, value: Any, depth: int) -> Value:
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
        base = next((base for base in _CONTAINERS if issubclass(kind, base)), None)
        if base is None:
            return self._summarise_other(value, kind, depth)
        return self._summarise_container(value, kind, base, depth)

    def _summarise_container(self, value: Any, kind: type, base: Any, depth: int) -> Value:
        """By its base's own methods: those of a subclass are the user's code."""
        if base in _SETS:
            return self._summarise_set(list(base.__iter__(value)), depth)
        if base in _MAPPINGS:
            return self._summarise_parts(kind.__name__, base.__len__(value), _flatten(base, value), depth)
        name = f"{kind.__name__} {deque.maxlen.__get__(value)}" if base is deque else kind.__name__
        return self._summarise_parts(name, base.__len__(value), base.__iter__(value), depth)

    def _summarise_parts(self, name: str, count: int, parts: Any, depth: int) -> Value:
        hashed, mark = hashlib.blake2b(f"{name} {count}".encode(), digest_size=8), b""
        for part in parts:
            self._left -= 1
            if self._left < 0:
                break
            found = self._summarise(part, depth + 1)
            if isinstance(found, bytes) and is_data(found):
                mark = mark or found[:1]
            hashed.update(repr(found).encode())
        return mark + hashed.digest()

    def _summarise_set(self, parts: list[Any], depth: int) -> Value:
        """What it holds, then in which order it gives that: runs can differ in the second alone."""
        self._left -= len(parts)
        if self._left < 0:
            return None
        held = [repr(self._summarise(part, depth + 1)).encode() for part in parts]
        return SET + _shorten(b" ".join(sorted(held))) + _shorten(b" ".join(held))

    def _summarise_other(self, value: Any, kind: type, depth: int) -> Value:
        library = kind.__module__.partition(".")[0]
        tell = _LIBRARIES.get(library)
        module = sys.modules.get(library)
        if tell is not None and module is not None:
            return tell(self, module, value, kind)
        torch = sys.modules.get("torch")
        if torch is not None and hasattr(torch, "nn") and issubclass(kind, torch.nn.Module):
            return self._summarise_module(value, depth)
        return None if library in _SILENT else self._summarise_object(value, kind, depth)

    def _summarise_of_random(self, random: Any, value: Any, kind: type) -> Value:
        return GENERATOR + _shorten(repr(value.getstate()).encode()) if kind is random.Random else None

    def _summarise_of_torch(self, torch: Any, value: Any, kind: type) -> Value:
        if kind in (torch.Tensor, torch.nn.Parameter):
            return self._summarise_tensor(torch, value)
        if kind is torch.Generator:
            return GENERATOR + _shorten(bytes(value.get_state().numpy()))
        return self._summarise_module(value, 0) if issubclass(kind, torch.nn.Module) else None

    def _summarise_of_numpy(self, numpy: Any, value: Any, kind: type) -> Value:
        if kind is numpy.ndarray:
            return None if value.dtype.hasobject else TENSOR + _shorten(_read_array(value))
        if issubclass(kind, numpy.generic):
            return self._summarise(value.item(), 1)
        generates = kind.__module__.startswith("numpy.random")
        return GENERATOR + _shorten(_write_generator(value)) if generates else None

    def _summarise_of_pandas(self, pandas: Any, value: Any, kind: type) -> Value:
        if kind not in (pandas.DataFrame, pandas.Series):
            return None
        part = value.iloc[:_MOST]
        columns = [part] if kind is pandas.Series else [part.iloc[:, at] for at in range(part.shape[1])]
        if not all(map(_is_plain_column, (part.index, *columns))):
            return None
        hashes = pandas.util.hash_pandas_object(part)
        return TENSOR + _shorten(str(value.shape).encode() + hashes.to_numpy().tobytes())

    def _summarise_of_polars(self, polars: Any, value: Any, kind: type) -> Value:
        if kind is polars.Series:
            value = value.to_frame()
        elif kind is not polars.DataFrame:
            return None
        file = io.BytesIO()
        value.head(_MOST).write_ipc(file)
        return TENSOR + _shorten(str(value.shape).encode() + file.getvalue())

    def _summarise_object(self, value: Any, kind: type, depth: int) -> Value:
        """An object by its attributes; those of pandas hold its arrays there too."""
        held = object.__getattribute__(value, "__dict__") if hasattr(kind, "__dict__") else None
        if type(held) is not dict or not held:
            return None
        return self._summarise_parts(kind.__qualname__, len(held), _flatten(dict, held), depth)

    def _summarise_module(self, module: Any, depth: int) -> Value:
        """A module by its tensors."""
        held = object.__getattribute__(module, "__dict__")
        parts = [part for name in ("_parameters", "_buffers", "_modules") for part in held[name].values()]
        there = [part for part in parts if part is not None]
        found = self._summarise_parts("module", len(there), there, min(depth, 1) - 1)
        return TENSOR + found[-8:] if isinstance(found, bytes) else found

    def _summarise_tensor(self, torch: Any, tensor: Any) -> Value:
        from samerun.digest.unobserved import hide_ops

        with hide_ops(), torch.no_grad():  # no mode of the user's sees what is asked of it
            if not _is_readable(torch, tensor):
                return None
            key, version = id(tensor), (-1 if tensor.is_inference() else tensor._version)
            known = self._tensors.get(key)
            if known is not None and known[0]() is tensor and known[1] == version >= 0:
                return known[2]
            host = tensor.detach()
            if tensor.numel() * tensor.element_size() > _MOST_BYTES:
                flat = host.reshape(-1)
                half = _MOST_BYTES // tensor.element_size() // 2
                host = torch.cat((flat[:half], flat[-half:]))
            host = host.cpu().contiguous().reshape(-1).view(torch.uint8)
            found = TENSOR + _shorten(str(tuple(tensor.shape)).encode() + host.numpy().tobytes())
        self._tensors[key] = weakref.ref(tensor, lambda _: self._tensors.pop(key, None)), version, found
        return found


# How what a library's classes hold is summarised; of the others of these libraries nothing is known.
_LIBRARIES: dict[str, Callable[[Values, Any, Any, type], Value]] = {
    "random": Values._summarise_of_random,
    "torch": Values._summarise_of_torch,
    "numpy": Values._summarise_of_numpy,
    "pandas": Values._summarise_of_pandas,
    "polars": Values._summarise_of_polars,
}
# Not looked into: what they hold is locks, pipes, numbers of processes and addresses.
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


def _is_plain_column(column: Any) -> bool:
    """Whether its cells are no objects of the user's, whose code would run to hash them."""
    library = type(column.dtype).__module__.partition(".")[0]
    if library not in ("numpy", "pandas"):
        return False
    return column.dtype != object or all(type(cell) in _TEXTS for cell in column.to_numpy().tolist())


def _write_part(part: Any) -> object:
    if isinstance(part, dict):
        return [(key, _write_part(value)) for key, value in part.items()]
    return part.tobytes() if hasattr(part, "tobytes") else part


def _is_readable(torch: Any, tensor: Any) -> bool:
    """Not what has no memory of its own, as within torch.func, nor while a graph is captured."""
    if tensor.layout is not torch.strided or tensor.device.type == "meta":
        return False
    if tensor.device.type == "cuda" and torch.cuda.is_current_stream_capturing():
        return False
    return not torch._C._functorch.is_functorch_wrapped_tensor(tensor)
