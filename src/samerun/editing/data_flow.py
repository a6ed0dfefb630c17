"""Where the value of an expression comes from: assignments, arguments and returns, read backwards."""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

from samerun.editing.index import index, unpack_targets
from samerun.editing.source_file import File, Function, get_last_name
from samerun.editing.user_program import Code

Place = tuple[File, ast.expr]
_DEEPEST = 6
_MOST = 24  # values of one name; of one that has more, no more is known anyway


def find_behind(code: Code, place: Place, wanted: Callable[[File, ast.expr], bool]) -> list[Place]:
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
    here = [node for node in _walk_parts(top) if wanted(file, node)]
    for node in here:
        found[id(node)] = (file, node)
    if here or not depth:
        return
    for node in _walk_parts(top):
        for other in find_given(code, (file, node)):
            _search(code, other, wanted, found, seen, depth - 1)


def find_given(code: Code, place: Place) -> Sequence[Place]:
    """The expressions that give a name, attribute, subscript or call of a function its value."""
    return _find_given(code, *place)


@functools.lru_cache(maxsize=65_536)  # the same names are asked for again and again
def _find_given(code: Code, file: File, node: ast.expr) -> tuple[Place, ...]:
    found: Iterable[Place] = ()
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        found = _find_of_name(code, file, node)
    elif isinstance(node, ast.Attribute):
        found = _find_of_attribute(code, file, node)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        found = ((file, value) for value in index(file).keys[node.slice.value])
    elif isinstance(node, ast.Call):
        functions = find_functions(code, file, node)
        found = ((other, item) for other, function in functions for item in returns(function))
    return tuple(itertools.islice(found, _MOST))


def find_functions(code: Code, file: File, call: ast.Call) -> list[tuple[File, Function]]:
    """The functions of the user's that a call may call, by name."""
    name = get_last_name(call)
    known = file.names.imported.get(name) if isinstance(call.func, ast.Name) else None
    files = code.files if known is not None or isinstance(call.func, ast.Attribute) else [file]
    wanted = known.rpartition(".")[2] if known else name
    return [(other, item) for other in files for item in index(other).functions[wanted]]


def returns(function: Function) -> Iterator[ast.expr]:
    """What a function returns."""
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value


def _walk_parts(top: ast.expr) -> Iterator[ast.expr]:
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


def _find_of_name(code: Code, file: File, name: ast.Name) -> list[Place]:
    for outer in file.around(name):
        for loop in reversed(getattr(outer, "generators", [])):
            targets = (target for target, _ in unpack_targets(loop.target, loop.iter))
            if loop.iter is not name and any(get_last_name(target) == name.id for target in targets):
                return [(file, loop.iter)]
    scope: ast.AST | None = file.scope(name)
    while scope is not None:
        values = [(file, value) for value in index(file).names[scope, name.id]]
        if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and _takes(scope, name.id):
            return [*_find_of_parameter(code, file, scope, name.id), *values]
        if values:
            return values
        scope = None if isinstance(scope, ast.Module) else file.scope(scope)
    imported = file.names.imported.get(name.id)
    if imported is None:
        return []
    module, _, known = imported.rpartition(".")
    others = (other for other in code.files if other is not file and _is_module(other, module))
    return [(other, value) for other in others for value in index(other).names[other.tree, known]]


def _is_module(file: File, name: str) -> bool:
    path = file.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    name = name.lstrip(".")
    return not name or path == name or path.endswith(f".{name}")


def _list_arguments(scope: Function | ast.Lambda) -> list[ast.arg]:
    return [*scope.args.posonlyargs, *scope.args.args]


def _takes(scope: Function | ast.Lambda, name: str) -> bool:
    return any(item.arg == name for item in [*_list_arguments(scope), *scope.args.kwonlyargs])


def _find_of_parameter(code: Code, file: File, scope: Function | ast.Lambda, name: str) -> list[Place]:
    """Its default, and what the calls of the function pass."""
    positional = [item.arg for item in _list_arguments(scope)]
    defaults = dict(zip(reversed(positional), reversed(scope.args.defaults), strict=False))
    for item, value in zip(scope.args.kwonlyargs, scope.args.kw_defaults, strict=True):
        if value is not None:
            defaults[item.arg] = value
    found = [(file, defaults[name])] if name in defaults else []
    if isinstance(scope, ast.Lambda):
        return found
    owner = file.parent(scope)
    is_made = isinstance(owner, ast.ClassDef) and scope.name == "__init__"
    if positional[:1] in (["self"], ["cls"]):
        positional = positional[1:]
    for other in code.files:
        calls = index(other).calls
        made = calls[owner.name] if is_made and isinstance(owner, ast.ClassDef) else []
        for call in [*calls[scope.name], *made]:
            found += [(other, item.value) for item in call.keywords if item.arg == name]
            if name in positional and positional.index(name) < len(call.args):
                found.append((other, call.args[positional.index(name)]))
    return found


def _find_of_attribute(code: Code, file: File, node: ast.Attribute) -> list[Place]:
    """Assignments to it: in its class, in this file, or else in the others; options and fields count.

    Of a property, what it returns; of a module of the user's, its names.
    """
    module = file.dotted(node.value)
    of_module = [
        (other, value)
        for other in (code.files if module else ())
        if other is not file and _is_module(other, module)
        for value in index(other).names[other.tree, node.attr]
    ]
    if of_module:  # another file may give it another value: config.seed = args.seed
        return of_module + [
            (other, value) for other in code.files for value in index(other).attributes[node.attr]
        ]
    owner = (
        file.owner(node) if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls") else None
    )
    own = index(file).own[owner, node.attr] if owner is not None else []
    if own:
        return [(file, value) for value in own]
    for files in ([file], [other for other in code.files if other is not file]):
        found = [(other, value) for other in files for value in index(other).attributes[node.attr]]
        found += [(other, value) for other in files for value in _find_of_property(other, node.attr)]
        if found:
            return found
    return []


def _find_of_property(file: File, name: str) -> Iterator[ast.expr]:
    for function in index(file).functions[name]:
        if any("property" in ast.unparse(item) for item in function.decorator_list):
            yield from returns(function)
