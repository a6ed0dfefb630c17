"""A tree of plain values and tensors as a table: each leaf by the names that lead to it, joined by dots."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from samerun.tensor_files.pickles import Call, Sketch
from samerun.tensor_files.tensor import Tensor

_MOST_LEAVES = 250_000
_MOST_NODES = 1_000_000
_DEEPEST = 100
_LONGEST_NAME = 1000
_MOST_ALIKE = 10  # leaves of one name


@dataclass(frozen=True)
class Value:
    """A plain value: a number, a text, bytes, None, or what stands for an object."""

    value: bool | int | float | str | bytes | complex | None


@dataclass(frozen=True)
class Unread:
    """A file of a folder that is not read; two of the same bytes are the same."""

    digest: str
    reason: str


Leaf = Tensor | Value | Unread
Leaves = dict[str, Leaf]
_PLAIN = (bool, int, float, str, bytes, complex, type(None))


Make = Callable[[Sketch | Call], Leaf | None]


def flatten(tree: Any, make: Make | None = None) -> Leaves:
    """The leaves of a tree of `read_pickle`, or of JSON.

    `make` reads a tensor, or an object that is one leaf; None for an object whose parts are leaves. Raises
    ValueError for what is too deep or too large, and what `make` raises.
    """
    leaves: Leaves = {}
    waiting: list[tuple[str, Any, int]] = [("", tree, 0)]
    seen = 0
    while waiting:
        name, node, depth = waiting.pop()
        if depth > _DEEPEST:
            raise ValueError(f"it is nested more than {_DEEPEST} deep")
        leaf = _make_leaf(node, make)
        if leaf is not None:
            add_leaf(leaves, name, leaf)
            continue
        inner = _list_inner(node)
        seen += len(inner)
        if seen > _MOST_NODES:
            raise ValueError(f"it holds more than {_MOST_NODES} values")
        waiting += [(_join(name, key), child, depth + 1) for key, child in reversed(inner)]
    return leaves


# Python 3.13 has them in a module of its own, and keeps a path whole where others keep its parts.
_PATH = re.compile(r"pathlib(?:\._local)?\.(\w*Path)")


def add_leaf(leaves: Leaves, name: str, leaf: Leaf) -> None:
    """Add a leaf under a name that no other has: a second `name` becomes `name (2)`. Raises ValueError."""
    if len(leaves) >= _MOST_LEAVES:
        raise ValueError(f"it holds more than {_MOST_LEAVES} values")
    free, number = name, 2
    while free in leaves:
        if number > _MOST_ALIKE:
            raise ValueError(f"it holds more than {_MOST_ALIKE} values of one name")
        free, number = f"{name} ({number})", number + 1
    leaves[free] = leaf


def _make_leaf(node: Any, make: Make | None) -> Leaf | None:
    if isinstance(node, _PLAIN):
        return Value(node)
    if isinstance(node, (Sketch, Call)) and make is not None:
        leaf = make(node)
        return _describe(node) if leaf is None and isinstance(node, Call) else leaf
    if isinstance(node, bytearray):
        return Value(bytes(node))
    if isinstance(node, set):
        return Value(f"a set: {sorted(map(_format_item, node))}")
    if isinstance(node, (dict, list, tuple)):
        return None if node else Value(f"an empty {type(node).__name__}")
    raise ValueError(f"a value of type {type(node).__name__}")


def _describe(node: Call) -> Value | None:
    """An object that its name and plain arguments describe wholly, such as a dtype, a device or a path."""
    if node.items or node.state is not None or not all(isinstance(arg, _PLAIN) for arg in node.args):
        return None
    if (path := _PATH.fullmatch(node.name)) is not None and all(isinstance(arg, str) for arg in node.args):
        kind = PureWindowsPath if "Windows" in path[1] else PurePosixPath
        return Value(f"pathlib.{path[1]}({str(kind(*node.args))!r})")
    return Value(f"{node.name}({', '.join(map(repr, node.args))})" if node.args else node.name)


def _list_inner(node: Any) -> list[tuple[str, Any]]:
    if isinstance(node, Call):
        return _list_parts(node)
    if len(node) > _MOST_NODES:
        raise ValueError(f"it holds more than {_MOST_NODES} values")
    if isinstance(node, dict):
        return [(_format_key(key), item) for key, item in node.items()]
    return [(str(number), item) for number, item in enumerate(node)]


def _list_parts(node: Call) -> list[tuple[str, Any]]:
    """What an object is made of; its type is a part."""
    if node.name == "torch.Size":
        return [(str(number), item) for number, item in enumerate(node.args[0])]
    if node.name == "torch._utils._rebuild_sparse_tensor":
        layout, inner = node.args
        coo = isinstance(layout, Call) and layout.args == ("torch.sparse_coo",)
        names = ("indices", "values", "size", "coalesced") if coo else ("outer", "inner", "values", "size")
        return [("layout", layout), *zip(names, inner, strict=False)]
    if node.name == "torch._utils._rebuild_qtensor":
        return [("int_repr", node.args[0]), ("quantizer", node.args[1])]
    parts: list[tuple[str, Any]] = [("(type)", node.name)]
    parts += [(f"({number})", arg) for number, arg in enumerate(node.args)]
    if all(isinstance(item, tuple) and len(item) == 2 for item in node.items):
        parts += [(_format_key(key), item) for key, item in node.items]
    else:
        parts += [(str(number), item) for number, item in enumerate(node.items)]
    if isinstance(node.state, dict):
        parts += [(_format_key(key), item) for key, item in node.state.items()]
    elif node.state is not None:
        parts.append(("(state)", node.state))
    return parts


def _format_item(item: Any) -> str:
    """Of a set, whose order says nothing."""
    if not all(isinstance(each, _PLAIN) for each in (item if isinstance(item, tuple) else (item,))):
        raise ValueError("a set of objects, which is not compared")
    return repr(item)


def _format_key(key: Any) -> str:
    if isinstance(key, tuple):
        return f"({', '.join(map(_format_key, key))})"
    return key if isinstance(key, str) else key.name if isinstance(key, Call) else repr(key)


def _join(name: str, key: str) -> str:
    joined = f"{name}.{key}" if name else key
    if len(joined) > _LONGEST_NAME:
        raise ValueError(f"a name of {len(joined)} characters")
    return joined
