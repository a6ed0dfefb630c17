"""The edits that put what has no order of its own into one."""

from __future__ import annotations

import ast
from typing import NamedTuple

from samerun.editing.edit import Change, Edit, Wrap
from samerun.editing.edit_builders import put_into
from samerun.editing.source_file import File, get_last_name

# What takes all of something and does not care in which order.
UNORDERED = frozenset(
    ["sorted", "set", "frozenset", "len", "any", "all", "min", "max", "collections.Counter"]
)


class Key(NamedTuple):
    """What to sort by, as code."""

    text: str = ""  # "": the elements themselves
    imports: tuple[str, ...] = ()  # lines that the file needs for it


BY_ELEMENT = Key()


def sort_node(file: File, node: ast.expr, key: Key = BY_ELEMENT) -> list[Edit]:
    """`node` becomes `sorted(node)`; `list(node)` around it becomes that."""
    more = f"key={key.text}" if key.text else ""
    parent = file.parent(node)
    if not isinstance(parent, ast.Call) or parent.args != [node] or parent.keywords:
        return [put_into(file, node, "sorted", more, key.imports)]
    name = file.called(parent)
    if name == "next":  # of an iterator, which a list is not
        start, end = file.span(node)
        tail = f", {more}))" if more else "))"
        return [Wrap(file.path, start, end, "iter(sorted(", tail, key.imports)]
    if name != "list":
        return [put_into(file, node, "sorted", more, key.imports)]
    start, end = file.span(parent.func)
    edits: list[Edit] = [Change(file.path, start, end, "sorted", key.imports)]
    if more:
        _, last = file.span(parent)
        has_comma = file.text[: last - 1].rstrip().endswith(",")
        edits.append(Change(file.path, last - 1, last - 1, f" {more}" if has_comma else f", {more}"))
    return edits


def is_unordered(file: File, node: ast.expr) -> bool:
    """Whether what an expression is given to at once does not depend on its order."""
    parent = file.parent(node)
    if isinstance(parent, ast.Starred):
        return False
    if isinstance(parent, ast.comprehension):  # for x in node
        made = file.parent(parent)
        if isinstance(made, ast.SetComp):
            return True
        if isinstance(made, (ast.GeneratorExp, ast.ListComp)):
            return is_unordered(file, made)
        return False
    if isinstance(parent, (ast.For, ast.AsyncFor)) and parent.iter is node:
        return all(_only_collects(item) for item in parent.body)
    if not isinstance(parent, ast.Call) or node not in parent.args:
        return is_sorted_later(file, node)
    name = file.called(parent)
    if name in ("list", "tuple", "iter", "reversed"):
        return is_unordered(file, parent)
    if isinstance(parent.func, ast.Attribute) and parent.func.attr in _SET_METHODS:
        return True
    with_key = any(item.arg == "key" for item in parent.keywords)  # where keys tie, the order decides
    return name in UNORDERED and not with_key


def is_sorted_later(file: File, node: ast.expr) -> bool:
    """Whether the list that an assignment makes is sorted by a statement right after it."""
    parent = file.parent(node)
    if not isinstance(parent, (ast.Assign, ast.AnnAssign)):
        return False
    targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
    block = next(
        (
            items
            for name in ("body", "orelse", "finalbody")
            if isinstance(items := getattr(file.parent(parent), name, None), list) and parent in items
        ),
        [],
    )
    for following in block[block.index(parent) + 1 :][:3] if block else []:
        call = following.value if isinstance(following, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "sort":
            same = any(ast.unparse(target) == ast.unparse(call.func.value) for target in targets)
            if same and not any(item.arg == "key" for item in call.keywords):
                return True
    return False


def _only_collects(item: ast.stmt) -> bool:
    """Whether a statement of a loop does the same in every order: counts, adds to a set, checks, prints."""
    if isinstance(item, (ast.Pass, ast.Continue, ast.Assert)):
        return True
    if isinstance(item, ast.If):
        return all(_only_collects(child) for child in [*item.body, *item.orelse])
    if isinstance(item, ast.AugAssign):
        return isinstance(item.op, ast.Add) and isinstance(item.value, ast.Constant)
    call = item.value if isinstance(item, ast.Expr) else None
    if not isinstance(call, ast.Call) or get_last_name(call) not in ("add", "print", "discard", "unlink"):
        return False
    inside = [node for node in ast.walk(call) if isinstance(node, ast.Call) and node is not call]
    return all(get_last_name(node) in ("lower", "upper", "strip", "len", "str") for node in inside)


_SET_METHODS = frozenset(
    [
        "update",
        "union",
        "intersection",
        "difference",
        "symmetric_difference",
        "issubset",
        "issuperset",
        "isdisjoint",
        "difference_update",
    ]
)
