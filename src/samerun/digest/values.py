"""Digests of any value that a training passes around: nested batches, arguments, states.

An object is digested by what it holds, never by its repr or its id: an address in either would make two
equal runs differ. A type that is not known here is digested by its qualified name only.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import struct
import sys
from collections.abc import Callable, Iterable
from typing import Any

from xxhash import xxh3_128_digest

from samerun.digest.keyed import seed_of
from samerun.errors import DigestError
from samerun.interruption import is_the_scripts

MAX_DEPTH = 100

_Memo = dict[int, tuple[Any, "int | bytes"]]
_Handler = Callable[[Any, _Memo, int], bytes]

_MAX_HANDLERS = 4096  # types made in a loop must not grow this without end
_handlers: dict[type, _Handler] = {}

# What stands for `/` in a copy of the user's folder (`digest_as_in_original`); empty: this is no copy.
_copied_root = b""

# Types whose str() shows the value and nothing else.
_SHOWN = frozenset(
    {
        "builtins.range",
        "builtins.slice",
        "datetime.date",
        "datetime.datetime",
        "datetime.time",
        "datetime.timedelta",
        "decimal.Decimal",
        "fractions.Fraction",
        "pathlib.PosixPath",
        "pathlib.PurePosixPath",
        "pathlib.WindowsPath",
        "pathlib.PureWindowsPath",
        "pathlib._local.PosixPath",
        "torch.device",
        "torch.dtype",
        "torch.layout",
        "uuid.UUID",
    }
)


def digest_value(obj: object) -> bytes:
    """16 bytes that stand for `obj` and everything nested in it, with types told apart (1, 1.0, True, "1").

    Tensors, numpy arrays and scalars, str, bytes, numbers, None, enums, list, tuple, namedtuple, dict (in
    insertion order), set and frozenset (in no order), dataclasses, PIL images, paths and dates by content.
    Cycles are followed once. Raises DigestError for a tensor without bytes and beyond 100 levels of nesting.
    """
    try:
        return _digest(obj, {}, 0)
    except RecursionError:
        raise DigestError(
            f"a {name_type(type(obj))} is nested too deep for the Python stack that is left. "
            "Digest its parts one by one."
        ) from None
    except DigestError:
        raise
    except Exception as error:  # an image that is cut short, a property that raises
        if is_the_scripts(error):
            raise
        raise DigestError(
            f"a {name_type(type(obj))} could not be read ({type(error).__name__}: {error}). "
            "Digest the parts of it that can."
        ) from error


def digest_as_in_original(root: str) -> None:
    """From now on texts and paths in a copy have the original's digests; `root` stands for `/` there.

    A batch that names its files would differ between a run in a copy of the folder and one in the folder.
    """
    global _copied_root
    _copied_root = root.rstrip("/").encode("utf-8", "surrogateescape")


def name_type(cls: type) -> str:
    """The qualified name of a type, such as "torch.nn.parameter.Parameter"."""
    return f"{cls.__module__}.{cls.__qualname__}"


def _digest(obj: Any, memo: _Memo, depth: int) -> bytes:
    handler = _handlers.get(type(obj))
    if handler is None:
        handler = _learn(type(obj))
    return handler(obj, memo, depth)


def _learn(cls: type) -> _Handler:
    if len(_handlers) >= _MAX_HANDLERS:
        _handlers.clear()
    handler = _handlers[cls] = _make_handler(cls)
    return handler


def _make_handler(cls: type) -> _Handler:
    name = name_type(cls)
    if (torch := sys.modules.get("torch")) is not None and issubclass(cls, torch.Tensor):
        from samerun.digest.host import digest_dense

        return lambda obj, memo, depth: digest_dense(obj)
    if (np := sys.modules.get("numpy")) is not None and issubclass(cls, (np.ndarray, np.generic)):
        from samerun.digest.arrays import get_bytes, list_items

        if not issubclass(cls, np.generic):
            return _handle_array(name, list_items)
        return _handle_leaf(name, get_bytes)
    if (pil := sys.modules.get("PIL.Image")) is not None and issubclass(cls, pil.Image):
        return _handle_leaf(name, _get_image_bytes)
    if issubclass(cls, enum.Enum):
        return _handle_container(name, lambda obj: (obj._name_, obj._value_))
    if dataclasses.is_dataclass(cls):
        names = [field.name for field in dataclasses.fields(cls)]
        return _handle_container(name, lambda obj: [x for n in names for x in (n, getattr(obj, n, None))])
    if name in _SHOWN:
        return _handle_leaf(name, lambda obj: _get_text_bytes(str(obj)))
    for base, handle in _BY_BASE.items():
        if issubclass(cls, base):
            return handle(name)
    return _handle_leaf(name, lambda obj: b"")


def _handle_leaf(name: str, content: Callable[[Any], Any]) -> _Handler:
    """For what holds no other objects; `content` gives its bytes."""
    seed = seed_of(name)
    return lambda obj, memo, depth: xxh3_128_digest(content(obj), seed)


def _handle_container(name: str, items: Callable[[Any], Iterable[Any]], ordered: bool = True) -> _Handler:
    """For what holds other objects. Seen again, an object has its first digest; inside itself, its distance.

    The memo keeps each object alive, so that no other takes its id during the walk.
    """
    seed = seed_of(name)
    cycle = seed_of(f"cycle {name}")

    def handler(obj: Any, memo: _Memo, depth: int) -> bytes:
        known = memo.get(id(obj))
        if known is not None:
            seen = known[1]
            return seen if isinstance(seen, bytes) else xxh3_128_digest(b"%d" % (depth - seen), cycle)
        if depth >= MAX_DEPTH:
            raise DigestError(
                f"a value is nested more than {MAX_DEPTH} levels deep (a {name} is at the last). "
                "Digest its parts one by one."
            )
        memo[id(obj)] = (obj, depth)
        digests = [_digest(item, memo, depth + 1) for item in items(obj)]
        if not ordered:
            digests.sort()
        digest = xxh3_128_digest(b"".join(digests), seed)
        memo[id(obj)] = (obj, digest)
        return digest

    return handler


def _handle_array(name: str, items_of: Callable[[Any], Any]) -> _Handler:
    """For numpy arrays: (key, bytes), or (key, items) when the array holds objects or several fields."""
    items = _handle_container(name, lambda array: items_of(array))

    def handler(obj: Any, memo: _Memo, depth: int) -> bytes:
        from samerun.digest.arrays import get_bytes, is_flat, key_of

        if is_flat(obj):
            return xxh3_128_digest(get_bytes(obj), seed_of(f"{name} {key_of(obj)}"))
        return items(obj, memo, depth)

    return handler


def _frame_parts(*parts: str | bytes) -> bytes:
    """Parts in one run of bytes, with their lengths, so that none runs into the next."""
    raw = [part.encode() if isinstance(part, str) else part for part in parts]
    return b"".join([struct.pack("<Q", len(part)) + part for part in raw])


def _get_image_bytes(image: Any) -> bytes:
    palette = bytes(image.getpalette() or ()) if image.mode in ("P", "PA") else b""
    return _frame_parts(image.mode, str(image.size), image.tobytes(), palette)


def _get_text_bytes(text: str) -> bytes:
    raw = str.encode(text, "utf-8", "surrogatepass")
    return raw.replace(_copied_root, b"") if _copied_root else raw


def _get_int_bytes(obj: int) -> bytes:
    return int.to_bytes(obj, int.bit_length(obj) // 8 + 1, "little", signed=True)


def _view_bytes(obj: memoryview) -> bytes:
    return _frame_parts(obj.format, str(obj.shape), obj.tobytes())


def _list_mapping_items(obj: dict[Any, Any]) -> list[Any]:
    return [x for pair in dict.items(obj) for x in pair]


# By base class, most special first. The base's own methods are used: an override would be the user's code.
_BY_BASE: dict[type, Callable[[str], _Handler]] = {
    bool: lambda name: _handle_leaf(name, lambda obj: b"\1" if obj else b"\0"),
    int: lambda name: _handle_leaf(name, _get_int_bytes),
    float: lambda name: _handle_leaf(name, lambda obj: struct.pack("<d", obj)),
    complex: lambda name: _handle_leaf(name, lambda obj: struct.pack("<dd", obj.real, obj.imag)),
    str: lambda name: _handle_leaf(name, _get_text_bytes),
    bytes: lambda name: _handle_leaf(name, lambda obj: obj),
    bytearray: lambda name: _handle_leaf(name, lambda obj: obj),
    memoryview: lambda name: _handle_leaf(name, _view_bytes),
    tuple: lambda name: _handle_container(name, tuple.__iter__),
    list: lambda name: _handle_container(name, list.__iter__),
    dict: lambda name: _handle_container(name, _list_mapping_items),
    collections.UserDict: lambda name: _handle_container(name, lambda obj: (obj.data,)),
    collections.UserList: lambda name: _handle_container(name, lambda obj: (obj.data,)),
    collections.deque: lambda name: _handle_container(name, collections.deque.__iter__),
    set: lambda name: _handle_container(name, set.__iter__, ordered=False),
    frozenset: lambda name: _handle_container(name, frozenset.__iter__, ordered=False),
}
