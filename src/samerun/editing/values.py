"""Where the value of an expression comes from: assignments, arguments and returns, read backwards."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from samerun.editing.code import Code
from samerun.editing.file import File, Function, last_name

Place = tuple[File, ast.expr]
_DEEPEST = 6


def behind(code: Code, place: Place, wanted: Callable[[File, ast.expr], bool]) -> list[Place]:
    """The wanted expressions within this one, or else within what gives its names their values, and so on."""
    found: dict[int, Place] = {}
    _search(code, place, wanted, found, set(), _DEEPEST)
    return list(found.values())


def _search(
    code: Code,
    place: Place,
    wanted: Callable[[File, ast.expr], bool],
    found: dict[int, Place],
    seen: set[int],
    depth: int,
) -> None:
    file, top = place
    if id(top) in seen:
        return
    seen.add(id(top))
    here = [node for node in _parts(top) if wanted(file, node)]
    for node in here:
        found[id(node)] = (file, node)
    if here or not depth:
        return
    for node in _parts(top):
        for other in given(code, (file, node)):
            _search(code, other, wanted, found, seen, depth - 1)


def given(code: Code, place: Place) -> list[Place]:
    """The expressions that give a name, attribute, subscript or call of a function its value."""
    file, node = place
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return _of_name(code, file, node)
    if isinstance(node, ast.Attribute):
        return _of_attribute(code, file, node.attr)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return _of_key(file, node.slice.value)
    if isinstance(node, ast.Call):
        return [
            (other, item) for other, function in functions(code, file, node) for item in returns(function)
        ]
    return []


def functions(code: Code, file: File, call: ast.Call) -> list[tuple[File, Function]]:
    """The functions of the user's that a call may call, by name."""
    name = last_name(call)
    known = file.names.imported.get(name) if isinstance(call.func, ast.Name) else None
    files = code.files if known is not None or isinstance(call.func, ast.Attribute) else [file]
    wanted = known.rpartition(".")[2] if known else name
    return [(other, item) for other in files for item in other.functions() if item.name == wanted]


def returns(function: Function) -> Iterator[ast.expr]:
    """What a function returns."""
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value


def _parts(top: ast.expr) -> Iterator[ast.expr]:
    """An expression and those in it, but the names of what it calls."""
    waiting: list[ast.AST] = [top]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.expr):
            yield node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            waiting += [*node.args, *node.keywords]
        else:
            waiting += ast.iter_child_nodes(node)


def _of_name(code: Code, file: File, name: ast.Name) -> list[Place]:
    for outer in file.around(name):
        for loop in reversed(getattr(outer, "generators", [])):
            targets = (target for target, _ in _unpacked(loop.target, loop.iter))
            if loop.iter is not name and any(last_name(target) == name.id for target in targets):
                return [(file, loop.iter)]
    scope: ast.AST | None = file.scope(name)
    while scope is not None:
        if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and _takes(scope, name.id):
            return _of_parameter(code, file, scope, name.id)
        values = [(file, value) for value in _assigned(file, scope, name.id)]
        if values:
            return values
        scope = None if isinstance(scope, ast.Module) else file.scope(scope)
    imported = file.names.imported.get(name.id)
    if imported is None:
        return []
    return [
        (other, value)
        for other in code.files
        if other is not file and _is_module(other, imported.rpartition(".")[0])
        for value in _assigned(other, other.tree, imported.rpartition(".")[2])
    ]


def _is_module(file: File, name: str) -> bool:
    path = file.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    name = name.lstrip(".")
    return not name or path == name or path.endswith(f".{name}")


def _assigned(file: File, scope: ast.AST, name: str) -> list[ast.expr]:
    """The values assigned to a name in a scope, loops and `with` included, in the order of the text."""
    found: list[ast.expr] = []
    for node in ast.walk(scope):
        if node is scope or not isinstance(node, (ast.stmt, ast.NamedExpr)) or file.scope(node) is not scope:
            continue
        found += [
            value for target, value in pairs(node) if isinstance(target, ast.Name) and target.id == name
        ]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def pairs(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What an assignment assigns: each target with its value (the whole value, where parts are unpacked)."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _unpacked(target, node.value)
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
        if node.value is not None:
            yield node.target, node.value
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        yield from _unpacked(node.target, node.iter)
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        for item in node.items:
            if item.optional_vars is not None:
                yield item.optional_vars, item.context_expr


def _unpacked(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if not isinstance(target, (ast.Tuple, ast.List)):
        yield target, value
        return
    parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
    if len(parts) == len(target.elts):
        for one, other in zip(target.elts, parts, strict=True):
            yield from _unpacked(one, other)
    else:
        for one in target.elts:
            yield from _unpacked(one, value)


def _arguments(scope: Function | ast.Lambda) -> list[ast.arg]:
    args = scope.args
    return [*args.posonlyargs, *args.args]


def _takes(scope: Function | ast.Lambda, name: str) -> bool:
    return any(item.arg == name for item in [*_arguments(scope), *scope.args.kwonlyargs])


def _of_parameter(code: Code, file: File, scope: Function | ast.Lambda, name: str) -> list[Place]:
    """Its default, and what the calls of the function pass."""
    found: list[Place] = []
    positional = _arguments(scope)
    defaults = dict(
        zip([item.arg for item in reversed(positional)], reversed(scope.args.defaults), strict=False)
    )
    keyword = zip([item.arg for item in scope.args.kwonlyargs], scope.args.kw_defaults, strict=True)
    defaults.update({item: value for item, value in keyword if value is not None})
    if name in defaults:
        found.append((file, defaults[name]))
    if isinstance(scope, ast.Lambda):
        return found
    names = [item.arg for item in positional]
    owner = file.parent(scope)
    called = owner.name if isinstance(owner, ast.ClassDef) and scope.name == "__init__" else scope.name
    if names and names[0] in ("self", "cls"):
        names = names[1:]
    for other in code.files:
        for call in other.every(ast.Call):
            if last_name(call) != called and not (scope.name == "__init__" and _is_super_init(call)):
                continue
            found += [(other, item.value) for item in call.keywords if item.arg == name]
            if name in names and names.index(name) < len(call.args):
                found.append((other, call.args[names.index(name)]))
    return found


def _is_super_init(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "__init__"


def _of_attribute(code: Code, file: File, name: str) -> list[Place]:
    """Assignments to it, in this file or else in the others; options of a command line and fields count."""
    for files in ([file], [other for other in code.files if other is not file]):
        found = [(other, value) for other in files for value in _attribute_in(other, name)]
        if found:
            return found
    return []


def _attribute_in(file: File, name: str) -> Iterator[ast.expr]:
    for node in file.every(ast.stmt, ast.NamedExpr, ast.Call):
        if isinstance(node, ast.Call):
            yield from _option(node, name)
            continue
        for target, value in pairs(node):
            is_field = isinstance(target, ast.Name) and isinstance(file.scope(node), ast.ClassDef)
            if last_name(target) == name and (is_field or isinstance(target, ast.Attribute)):
                yield value


def _option(call: ast.Call, name: str) -> Iterable[ast.expr]:
    """The default of `add_argument("--name", …)`, or `name=` of a namespace or configuration."""
    if last_name(call) == "add_argument":
        words = [item.value for item in call.args if isinstance(item, ast.Constant)]
        named = [str(word).lstrip("-").replace("-", "_") for word in words]
        return [item.value for item in call.keywords if item.arg == "default"] if name in named else []
    if last_name(call)[:1].isupper() or last_name(call) == "dict":
        return [item.value for item in call.keywords if item.arg == name]
    return []


def _of_key(file: File, key: object) -> list[Place]:
    """The values of a key in this file's dictionaries."""
    found: list[Place] = []
    for node in file.every(ast.Dict, ast.Assign, ast.Call):
        if isinstance(node, ast.Dict):
            pairs_ = zip(node.keys, node.values, strict=True)
            found += [
                (file, value)
                for item, value in pairs_
                if isinstance(item, ast.Constant) and item.value == key
            ]
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                at = target.slice if isinstance(target, ast.Subscript) else None
                if isinstance(at, ast.Constant) and at.value == key:
                    found.append((file, node.value))
        elif isinstance(node, ast.Call) and last_name(node) == "dict":
            found += [(file, item.value) for item in node.keywords if item.arg == key]
    return found
