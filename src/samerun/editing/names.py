"""What the names of a file stand for: its imports, and what else it binds."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Names:
    """`imported`: name → what it is imported from, such as {"np": "numpy"}; `assigned`: every other name."""

    imported: dict[str, str]
    assigned: frozenset[str]


def collect_names(tree: ast.Module) -> Names:
    """The names bound anywhere in a file."""
    imported = collect_bound(ast.walk(tree))
    assigned: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            assigned.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            assigned.add(node.name)
        elif isinstance(node, ast.arg):
            assigned.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            assigned.add(node.name)
    for node in ast.walk(tree):
        _note_short_name(node, imported, assigned)
    return Names(imported, frozenset(assigned - imported.keys()))


def collect_bound(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """What the imports among these nodes bind."""
    found: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (node.module or "")
            for alias in node.names:
                joined = f"{start}{alias.name}" if start.endswith(".") else f"{start}.{alias.name}"
                found[alias.asname or alias.name] = joined
    return found


def walk_imports(statements: Iterable[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports among these statements, and in the `try` and `if` blocks that hold nothing else."""
    for item in statements:
        if isinstance(item, (ast.Import, ast.ImportFrom)):
            yield item
        elif isinstance(item, (ast.Try, ast.If)) and not is_main_guard(item):
            yield from walk_imports(
                child for child in ast.walk(item) if isinstance(child, (ast.Import, ast.ImportFrom))
            )


def is_main_guard(item: ast.stmt) -> bool:
    """Whether a statement is `if __name__ == "__main__":`."""
    return isinstance(item, ast.If) and any(
        isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(item.test)
    )


def _note_short_name(node: ast.AST, imported: dict[str, str], assigned: set[str]) -> None:
    """`rng = np.random`, at any place: another name for something imported."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Attribute):
        return
    target = node.targets[0]
    parts: list[str] = []
    value: ast.expr = node.value
    while isinstance(value, ast.Attribute):
        parts.append(value.attr)
        value = value.value
    if isinstance(target, ast.Name) and isinstance(value, ast.Name) and value.id in imported:
        imported.setdefault(target.id, ".".join([imported[value.id], *reversed(parts)]))
