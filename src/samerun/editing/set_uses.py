"""What is done with a set: whether a list, or the keys of a dict, can stand in its place."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from samerun.editing.data_flow import Place, find_functions
from samerun.editing.index import index
from samerun.editing.source_file import File, Function, get_last_name
from samerun.editing.user_program import Code

OPERATIONS = frozenset({"union", "intersection", "difference", "symmetric_difference"})
AS_DICT = frozenset({"add", "discard", "remove"})  # methods of a set that have a counterpart in a dict
AS_LIST = frozenset({"pop", "clear", "copy"})  # and those that a list has too
_TAKE_ANY_ORDERED = frozenset(  # and give the same of a list or a dict's keys
    """list tuple sorted enumerate len iter zip map filter min max sum any all bool print set frozenset
    collections.deque itertools.chain""".split()  # noqa: SIM905 - words, as they are read
)
_TAKE_ITERABLES = frozenset(["join", "extend", "fromkeys", "from_iterable", *OPERATIONS, "isdisjoint"])
_TYPES = frozenset(["set", "frozenset", "Set", "FrozenSet", "AbstractSet", "MutableSet"])
_DEEPEST = 5  # names, functions and parameters on the way from one use to another
_GO_THROUGH = (ast.For, ast.AsyncFor, ast.comprehension, ast.Starred)
_ASK = (ast.If, ast.While, ast.IfExp, ast.BoolOp, ast.UnaryOp, ast.Assert, ast.Expr)


def list_method_calls(code: Code, place: Place, depth: int = _DEEPEST) -> list[tuple[File, ast.Call]] | None:
    """The calls of methods of a set that an expression gives; None when it may be used in another way too.

    Followed through names, what functions return and what they take: a list or a dict can stand for the set
    where each use is one of these methods, goes through it, or looks for an element.
    """
    file, made = place
    use, found = file.parent(made), list[tuple[File, ast.Call]]()
    if isinstance(use, ast.Attribute):
        call = file.parent(use)
        if not isinstance(call, ast.Call) or call.func is not use or use.attr not in AS_DICT | AS_LIST:
            return None
        uses: Sequence[Place] | None = [(file, call)] if use.attr == "copy" else []
        found.append((file, call))
    else:
        uses = _list_uses(code, place, use)
    if uses is None or not depth:
        return None
    for item in uses:
        calls = list_method_calls(code, item, depth - 1)
        if calls is None:
            return None
        found += calls
    return list(dict.fromkeys(found))


def _list_uses(code: Code, place: Place, use: ast.AST | None) -> Sequence[Place] | None:
    """Where a set that is used in this way goes on; [] when it ends, None for what only sets can."""
    file, made = place
    if isinstance(use, (ast.Assign, ast.AnnAssign)):
        return _list_assigned(code, file, use)
    if isinstance(use, ast.Return):
        return _list_returned(code, file, use)
    if isinstance(use, ast.Call) and made in use.args:
        if file.called(use) in _TAKE_ANY_ORDERED or get_last_name(use) in _TAKE_ITERABLES:
            return []
        return _find_taken(code, file, use, use.args.index(made))
    if isinstance(use, ast.keyword) and isinstance(call := file.parent(use), ast.Call):
        return _find_taken(code, file, call, use.arg)
    if isinstance(use, (ast.Tuple, ast.List)):
        loop = file.parent(use)
        if isinstance(loop, (ast.For, ast.comprehension)) and loop.iter is use:
            return find_named_uses(code, file, loop.target)
        return None
    if isinstance(use, ast.arguments) and isinstance(taker := file.parent(use), ast.FunctionDef):
        return _list_uses_of(file, taker, _find_default(use, made))
    return [] if isinstance(use, _GO_THROUGH + _ASK) or _looks_in(use, made) else None


def _list_assigned(code: Code, file: File, use: ast.Assign | ast.AnnAssign) -> Sequence[Place] | None:
    targets = use.targets if isinstance(use, ast.Assign) else [use.target]
    if isinstance(use, ast.AnnAssign) and is_set_type(use.annotation):
        return None
    named = [find_named_uses(code, file, target) for target in targets]
    return None if None in named else [item for found in named if found for item in found]


def _list_returned(code: Code, file: File, use: ast.Return) -> Sequence[Place] | None:
    function = file.function(use)
    if function is None or is_set_type(function.returns) or function.decorator_list:
        return None
    calls = [(other, call) for other in code.files for call in index(other).calls[function.name]]
    return calls or None  # who calls it is not seen


def _looks_in(use: ast.AST | None, made: ast.AST) -> bool:
    """Whether it is asked what is in the set."""
    if not isinstance(use, ast.Compare) or made is use.left:
        return False
    return all(isinstance(item, (ast.In, ast.NotIn)) for item in use.ops)


def find_named_uses(code: Code, file: File, target: ast.expr) -> list[Place] | None:
    """The uses of the name or attribute that is given a set; None when it is changed as only sets can be."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return []  # taken apart, in its order
    if not isinstance(target, (ast.Name, ast.Attribute)):
        return None
    last, scope = get_last_name(target), file.scope(target)
    is_local = isinstance(target, ast.Name) and not isinstance(scope, (ast.Module, ast.ClassDef))
    found: list[Place] = []
    for other in [file] if is_local else code.files:
        names = [last] if other is file else [*_list_imported(other, last), last]
        for node in other.every(ast.Name, ast.Attribute):
            if get_last_name(node) not in names or (is_local and scope not in other.around(node)):
                continue
            if isinstance(node, ast.Name) and other is not file and node.id not in other.names.imported:
                continue  # a name of its own
            context = getattr(node, "ctx", None)
            if isinstance(other.parent(node), ast.AugAssign) and isinstance(context, ast.Store):
                return None
            if isinstance(context, ast.Load):
                found.append((other, node))
    return found


def _list_imported(file: File, name: str) -> list[str]:
    """What a file calls a name that it imports from somewhere."""
    return [here for here, there in file.names.imported.items() if there.rpartition(".")[2] == name]


def _find_taken(code: Code, file: File, call: ast.Call, place: int | str | None) -> list[Place] | None:
    """The uses of the parameter, by its place or name, that a set is given as; None: not known."""
    functions = find_functions(code, file, call)
    if len(functions) != 1 or any(isinstance(item, ast.Starred) for item in call.args):
        return None
    other, function = functions[0]
    taken = [*function.args.posonlyargs, *function.args.args]
    if isinstance(place, int):
        taken = taken[1:] if taken and taken[0].arg in ("self", "cls") else taken
        found = taken[place] if place < len(taken) else None
    else:
        found = next((item for item in [*taken, *function.args.kwonlyargs] if item.arg == place), None)
    return _list_uses_of(other, function, found)


def _find_default(given: ast.arguments, default: ast.expr) -> ast.arg | None:
    """The parameter that has this default."""
    taken = [*given.posonlyargs, *given.args]
    pairs = [
        *zip(reversed(taken), reversed(given.defaults), strict=False),
        *zip(given.kwonlyargs, given.kw_defaults, strict=True),
    ]
    return next((item for item, value in pairs if value is default), None)


def _list_uses_of(file: File, function: Function, parameter: ast.arg | None) -> list[Place] | None:
    """The uses of a parameter that may be a set; None when it is another thing later."""
    if parameter is None or is_set_type(parameter.annotation):
        return None
    names = [node for node in file.every(ast.Name) if node.id == parameter.arg]
    inside = [node for node in names if function in file.around(node)]
    is_only_read = all(isinstance(node.ctx, ast.Load) for node in inside)
    return [(file, node) for node in inside] if is_only_read else None


def is_set_type(annotation: ast.expr | None) -> bool:
    """Whether an annotation says that something is a set."""
    return annotation is not None and get_last_name(_strip_subscript(annotation)) in _TYPES


def _strip_subscript(annotation: ast.expr) -> ast.expr:
    return annotation.value if isinstance(annotation, ast.Subscript) else annotation
