"""What a file assigns, calls and defines, by name: it is asked for again and again."""

from __future__ import annotations

import ast
import functools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from samerun.editing.source_file import File, Function, get_last_name


@dataclass(frozen=True)
class Index:
    """Each list is in the order of the text."""

    names: dict[tuple[ast.AST, str], list[ast.expr]] = field(default_factory=lambda: defaultdict(list))
    """(scope, name) → the values assigned to it there."""
    attributes: dict[str, list[ast.expr]] = field(default_factory=lambda: defaultdict(list))
    """An attribute, field, or option of the command line → its values."""
    own: dict[tuple[ast.AST, str], list[ast.expr]] = field(default_factory=lambda: defaultdict(list))
    """(class, attribute) → the values that the class itself gives it."""
    keys: dict[object, list[ast.expr]] = field(default_factory=lambda: defaultdict(list))
    """A constant key of dictionaries → its values."""
    calls: dict[str, list[ast.Call]] = field(default_factory=lambda: defaultdict(list))
    """The last part of what is called → the calls."""
    added: dict[str, list[ast.expr]] = field(default_factory=lambda: defaultdict(list))
    """What `.add(…)` and `.append(…)` are called on, as text → what is put in."""
    functions: dict[str, list[Function]] = field(default_factory=lambda: defaultdict(list))
    """A name → the functions and methods."""


_SAVES = ("savez", "savez_compressed")  # by names that are keywords


@functools.lru_cache(maxsize=1024)
def index(file: File) -> Index:
    """The index of a file."""
    made = Index()
    for node in file.every(ast.stmt, ast.NamedExpr, ast.Call, ast.Dict):
        if isinstance(node, ast.Call):
            _add_call(node, made)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant):
                    made.keys[key.value].append(value)
        else:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                made.functions[node.name].append(node)
            _add_assignments(file, node, made)
    return made


def list_pairs(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What an assignment assigns: each target with its value (the whole value, where parts are unpacked)."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from unpack_targets(target, node.value)
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
        if node.value is not None:
            yield node.target, node.value
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        yield from unpack_targets(node.target, node.iter)
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        for item in node.items:
            if item.optional_vars is not None:
                yield item.optional_vars, item.context_expr


def unpack_targets(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Each target of `a, b = 1, 2` with its value."""
    if not isinstance(target, (ast.Tuple, ast.List)):
        yield target, value
        return
    parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
    if len(parts) == len(target.elts):
        for one, other in zip(target.elts, parts, strict=True):
            yield from unpack_targets(one, other)
    else:
        for one in target.elts:
            yield from unpack_targets(one, value)


def _add_assignments(file: File, node: ast.AST, made: Index) -> None:
    scope = file.scope(node)
    for target, value in list_pairs(node):
        if isinstance(target, ast.Name):
            made.names[scope, target.id].append(value)
        if isinstance(target, ast.Attribute) or isinstance(scope, ast.ClassDef):
            made.attributes[get_last_name(target)].append(value)
            owner = file.owner(target)
            if owner is not None:
                made.own[owner, get_last_name(target)].append(value)
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            made.keys[target.slice.value].append(value)


def _add_call(node: ast.Call, made: Index) -> None:
    made.calls[get_last_name(node)].append(node)
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("add", "append") and node.args:
        made.added[ast.unparse(node.func.value)].append(node.args[0])
    for name, value in _list_options(node):
        made.attributes[name].append(value)
        made.keys[name].append(value)
    if get_last_name(node) in _SAVES:
        for item in node.keywords:
            made.keys[item.arg].append(item.value)


def _list_options(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """The defaults of `add_argument("--name", …)`, and `name=` of a namespace, configuration or dict."""
    if get_last_name(call) == "add_argument":
        words = [str(item.value) for item in call.args if isinstance(item, ast.Constant)]
        default = next((item.value for item in call.keywords if item.arg == "default"), None)
        if default is not None:
            yield from ((word.lstrip("-").replace("-", "_"), default) for word in words)
    elif get_last_name(call)[:1].isupper() or get_last_name(call) == "dict":
        yield from ((item.arg, item.value) for item in call.keywords if item.arg)
