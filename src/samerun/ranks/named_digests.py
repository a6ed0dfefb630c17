"""A value as named entries, each with its digest, so that a difference between two values has a name."""

from __future__ import annotations

import collections
import dataclasses
import random
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from samerun.digest import digest_bytes, digest_value
from samerun.digest.values import name_type
from samerun.errors import UsageError

_LONG = 1000  # a longer sequence of plain values is one entry
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


@dataclass(frozen=True)
class Entry:
    """One leaf of a value: where it is ("model.fc.weight"), its 16 bytes, and what to show of it."""

    name: str
    digest: bytes
    shown: str
    empty: bool = False  # None, or a container with nothing in it


def list_entries(value: Any, name: str = "") -> list[Entry]:
    """The leaves of a value, in its own order, each named by its path from `name`.

    Taken apart: modules (parameters, buffers, extra state), anything else with `state_dict()`, mappings,
    lists, tuples, dataclasses, and generators of python, numpy and torch (their states). Everything else is
    a leaf. Raises UsageError for one that has no content known here (it would always seem equal), and
    DigestError for a tensor without bytes.
    """
    return list(_walk(value, name, ()))


def find_first_difference(a: Iterable[Entry], b: Iterable[Entry]) -> tuple[Entry | None, Entry | None] | None:
    """The first entry of `a` that `b` has not or has otherwise, with its counterpart; else one of `b` alone.

    None when they have the same entries; the order of a mapping does not count.
    """
    ours, theirs = _number_by_name(a), _number_by_name(b)
    for key, entry in ours.items():
        other = theirs.get(key)
        if other is None or other.digest != entry.digest:
            return entry, other
    extra = next((entry for key, entry in theirs.items() if key not in ours), None)
    return None if extra is None else (None, extra)


def _number_by_name(side: Iterable[Entry]) -> dict[tuple[str, int], Entry]:
    """By name, and how often that came before: {"a.b": 1, "a": {"b": 2}} has it twice."""
    times: collections.Counter[str] = collections.Counter()
    found = {}
    for entry in side:
        found[entry.name, times[entry.name]] = entry
        times[entry.name] += 1
    return found


def _walk(value: Any, name: str, above: tuple[int, ...]) -> Iterator[Entry]:
    parts = None if isinstance(value, _PLAIN) else _list_parts(value, name)
    if parts is None:
        yield _make_leaf(value, name)
        return
    if id(value) in above:
        raise UsageError(f"{name or 'the value'} contains itself; pass its parts")
    empty = True
    for part_name, part in parts:
        empty = False
        yield from _walk(part, part_name, (*above, id(value)))
    if empty:
        digest = digest_bytes(b"empty", name_type(type(value)))
        yield Entry(name, digest, f"an empty {type(value).__name__}", empty=True)


def _list_parts(value: Any, name: str) -> Iterable[tuple[str, Any]] | None:
    """The named parts of a value, or None for a leaf."""
    state = _read_state(value)
    if state is not None:
        return _name_parts(state, name)
    if isinstance(value, (Mapping, collections.UserDict)):
        return _name_parts(value, name)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _name_parts(
            {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}, name
        )
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return _name_parts(dict(zip(value._fields, value, strict=True)), name)
    if isinstance(value, (list, tuple, collections.deque, collections.UserList)):
        if len(value) > _LONG and all(isinstance(item, _PLAIN) for item in value):
            return None
        return ((f"{name}[{index}]", item) for index, item in enumerate(value))
    return None


def _name_parts(parts: Mapping[Any, Any], name: str) -> Iterable[tuple[str, Any]]:
    for key, part in parts.items():
        if isinstance(key, str):
            yield (f"{name}.{key}" if name else key), part
        else:
            yield f"{name}[{key!r}]", part


def _read_state(value: Any) -> Mapping[Any, Any] | None:
    """What an object with a state holds, as a mapping; None for a value that has no state of its own."""
    if isinstance(value, random.Random):
        return {"state": digest_value(value.getstate())}
    numpy, torch = sys.modules.get("numpy.random"), sys.modules.get("torch")
    if numpy is not None:
        if isinstance(value, numpy.Generator):
            return {"state": value.bit_generator.state}
        if isinstance(value, numpy.RandomState):
            return {"state": value.get_state(legacy=False)}
    if torch is not None:
        if isinstance(value, torch.Generator):
            return {"state": value.get_state()}
        if isinstance(value, torch.nn.Module):
            return _read_held(value)
    if callable(getattr(value, "state_dict", None)) and not isinstance(value, type):
        state = value.state_dict()
        return state if isinstance(state, Mapping) else {"state_dict()": state}
    return None


def _read_held(module: Any) -> dict[str, Any]:
    """Parameters and buffers (those outside the state_dict too), then what else its state_dict holds."""
    held = dict(module.named_parameters(remove_duplicate=False))
    held.update(module.named_buffers(remove_duplicate=False))
    held.update((key, value) for key, value in module.state_dict().items() if key not in held)
    return held


def _make_leaf(value: Any, name: str) -> Entry:
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)):
        path = f"{value.__module__}.{value.__qualname__}"
        return Entry(name, digest_bytes(path.encode(), "function"), path)
    digest = digest_value(value)
    kind = name_type(type(value))
    if digest == digest_bytes(b"", kind) and not isinstance(
        value, (*_PLAIN, bytearray, memoryview, set, frozenset)
    ):
        # a type that digest_value does not know: it stands for its name alone
        raise UsageError(
            f"there is no telling whether two {kind} are the same ({name or 'the value itself'}); pass what "
            "it holds: tensors, arrays, numbers, or an object with state_dict()"
        )
    return Entry(name, digest, _show(value), empty=value is None)


def _show(value: Any) -> str:
    """A number or a word as it is; of a tensor or array its dtype and shape; of the rest its type."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        return f"{value.dtype} {tuple(shape)}"
    if isinstance(shape, tuple):
        value = value.item()
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, _PLAIN):
        text = repr(value)
        return text if len(text) <= 40 else f"{text[:37]}..."
    return f"a {type(value).__name__}"
