"""Where the user's code makes an order out of hashes: found by reading it, after the run."""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from pathlib import Path

from samerun.runs.difference import Side


@dataclass(frozen=True)
class Hashing:
    """The lines (`path.py:line`) of the user's files that hash.

    `values`: sets and hashes of what may be strings, which follow PYTHONHASHSEED. `objects`: sets of
    instances of a class of the user's own that is hashed by its address, and sorting by `id`. `addresses`:
    `id()` and `data_ptr()`, most of them harmless.
    """

    values: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()


def hashing(side: Side) -> Hashing | None:
    """What the files that ran contain; None when none of them can be read."""
    folder, paths = side.manifest.get("cwd"), side.settings.get("code", {})
    if not isinstance(folder, str):
        return None
    found = [(path, seen) for path in paths if (seen := _read(str(Path(folder, path)))) is not None]
    if not found:
        return None
    return Hashing(*(tuple(f"{path}:{n}" for path, seen in found for n in seen[which]) for which in range(3)))


@functools.lru_cache(maxsize=256)
def _read(path: str) -> tuple[list[int], list[int], list[int]] | None:
    """The lines of one file for each field of Hashing."""
    try:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None
    plain = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and _by_address(node)}
    values: list[int] = []
    objects: list[int] = []
    addresses: list[int] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Set, ast.SetComp)):
            elements = node.elts if isinstance(node, ast.Set) else [node.elt]
            made = all(isinstance(item, ast.Call) and _name(item.func) in plain for item in elements)
            (objects if made else values).append(node.lineno)
        elif isinstance(node, ast.Call) and _name(node.func) in ("set", "frozenset", "hash"):
            values.append(node.lineno)
        elif isinstance(node, ast.Call) and (_name(node.func) == "id" or _is_address(node.func)):
            addresses.append(node.lineno)
        elif isinstance(node, ast.keyword) and node.arg == "key" and _name(node.value) in ("id", "hash"):
            objects.append(node.value.lineno)
    return values, objects, addresses


def _by_address(node: ast.ClassDef) -> bool:
    """Whether instances are hashed by their address: no bases, no decorator and no `__hash__` or `__eq__`."""
    methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
    return not node.bases and not node.decorator_list and not methods & {"__hash__", "__eq__"}


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _is_address(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "data_ptr"
