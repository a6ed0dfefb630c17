"""The edits that take an order from where objects lie in memory to the order in which they were made."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from samerun.editing import set_uses
from samerun.editing.data_flow import Place, find_given
from samerun.editing.edit import Change, Edit
from samerun.editing.edit_builders import remove_statement, rename_call, replace_node
from samerun.editing.source_file import File, get_last_name
from samerun.editing.user_program import Code
from samerun.sources.edits import run_dependent_calls, sets
from samerun.sources.edits.container_elements import are_texts

_BY = frozenset({"id", "hash", "object.__hash__"})


def keep_order_of_making(code: Code) -> list[Edit]:
    """Sets of objects become lists or dicts, and sorting by address is left out."""
    edits: list[Edit] = []
    for file in code.files:
        for call in file.every(ast.Call):
            edits += _remove_sorting(code, file, call)
    for place in _find_gone_through(code):
        kept = [edit for maker in sets.find_makers(code, place) for edit in _keep_in_order(code, *maker)]
        edits += kept or _filter_base(code, place)
    return list(dict.fromkeys(edits))


def _remove_sorting(code: Code, file: File, call: ast.Call) -> list[Edit]:
    by_address = any(item.arg == "key" and _is_address(file, item.value) for item in call.keywords)
    name = file.called(call)
    if by_address and name == "sorted" and len(call.args) == 1:
        return [replace_node(file, call, f"list({file.said(call.args[0])})")]
    if by_address and name in ("min", "max") and len(call.args) == 1:
        return [replace_node(file, call, f"next(iter({file.said(call.args[0])}))")]
    if by_address and get_last_name(call) == "sort" and isinstance(file.parent(call), ast.Expr):
        return [remove_statement(file, file.statement(call))]
    if (
        name == "sorted"
        and len(call.args) == 1
        and not call.keywords
        and _has_address_keys(code, (file, call.args[0]))
    ):
        start, end = file.span(call.func)
        return [Change(file.path, start, end, "list")]
    return []


def _is_address(file: File, key: ast.expr) -> bool:
    if isinstance(key, ast.Lambda):
        calls = [node for node in ast.walk(key.body) if isinstance(node, ast.Call)]
        return any(run_dependent_calls.address(file, node) or file.called(node) in _BY for node in calls)
    return file.dotted(key) in _BY


def _has_address_keys(code: Code, place: Place) -> bool:
    """Whether an expression is a dict whose keys are addresses, or its items."""
    file, node = place
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("items", "keys")
    ):
        node = node.func.value
    values = [(file, node), *find_given(code, (file, node))]
    for other, value in values:
        keys = (
            [value.key]
            if isinstance(value, ast.DictComp)
            else value.keys
            if isinstance(value, ast.Dict)
            else []
        )
        if any(key is not None and run_dependent_calls.address(other, key) for key in keys):
            return True
    name = ast.unparse(node)
    return any(
        isinstance(target, ast.Subscript)
        and ast.unparse(target.value) == name
        and run_dependent_calls.address(file, target.slice)
        for item in file.every(ast.Assign)
        for target in item.targets
    )


def _find_gone_through(code: Code) -> Iterator[Place]:
    """The sets of what may be objects whose order is followed, `.pop()` included."""
    for file, node in sets.find_ordered_sets(code):
        if not are_texts(code, (file, node)):
            yield file, node
    yield from (place for place in sets.find_popped(code) if not are_texts(code, place))
    yield from sets.find_ordered_waits(code)


def _written_in_order(file: File, maker: ast.Set | ast.SetComp, as_list: bool) -> list[Edit]:
    """The edits that make a list or a dict of a set that is written out."""
    start, end = file.span(maker)
    made = [maker.elt] if isinstance(maker, ast.SetComp) else maker.elts
    new = all(isinstance(item, ast.Call) for item in made)  # each one made here, so that none comes twice
    before, after = (
        ("[", "]") if new else ("list(dict.fromkeys([", "]))") if as_list else ("dict.fromkeys([", "])")
    )
    return [Change(file.path, start, start + 1, before), Change(file.path, end - 1, end, after)]


def _keep_in_order(code: Code, file: File, maker: ast.expr) -> list[Edit]:
    """The edits that make a list or a dict of a set; [] where it is used as only sets can be."""
    uses = set_uses.list_method_calls(code, (file, maker))
    if uses is None:
        return []
    called = {get_last_name(call) for _, call in uses}
    as_list = bool(called & set_uses.AS_LIST)
    if isinstance(maker, (ast.Set, ast.SetComp)):
        return [] if called & set_uses.AS_DICT else _written_in_order(file, maker, as_list)
    assert isinstance(maker, ast.Call)
    start, end = file.span(maker.func)
    if not maker.args:
        if as_list:
            return []
        return [replace_node(file, maker, "{}"), *_use_as_dict(uses)]
    if called & set_uses.AS_DICT:
        return []
    if not as_list:
        return [Change(file.path, start, end, "dict.fromkeys")]
    _, last = file.span(maker)
    return [Change(file.path, start, end, "list(dict.fromkeys"), Change(file.path, last, last, ")")]


def _use_as_dict(calls: Sequence[tuple[File, ast.Call]]) -> Iterator[Edit]:
    """The methods of a set, as those of a dict."""
    for file, call in calls:
        name = get_last_name(call)
        if name == "add":
            yield rename_call(file, call, "setdefault")
        elif name in ("discard", "remove"):
            yield rename_call(file, call, "pop")
            if name == "discard":  # which allows for what is not there
                _, last = file.span(call)
                yield Change(file.path, last - 1, last - 1, ", None")


def _filter_base(code: Code, place: Place) -> list[Edit]:
    """`list(some)` becomes `[item for item in all if item in some]`, where `some` was made of `all`.

    For sets that only sets can stand for: differences, intersections.
    """
    file, node = place
    waited = _list_waited_for(code, place)
    base = waited[0] if waited else _find_base(code, place, 0)
    parent = file.parent(node)
    if base is None or base[0] is not file or not isinstance(parent, (ast.Call, ast.For, ast.comprehension)):
        return []
    whole, some = file.said(base[1]), file.said(node)
    if isinstance(base[1], ast.SetComp):  # of what is made of each: the same, in order
        whole = f"dict.fromkeys({whole[1:-1].strip()})"
    elif not isinstance(base[1], ast.Call):  # where an element can come twice
        whole = f"dict.fromkeys({whole})"
    inner = f"item for item in {whole} if item in {some}"
    if isinstance(parent, ast.Call) and file.called(parent) == "list" and parent.args == [node]:
        return [replace_node(file, parent, f"[{inner}]")]
    return [replace_node(file, node, f"[{inner}]")]


def _list_waited_for(code: Code, place: Place) -> list[Place]:
    """The futures that were given to the `wait` which gave a set of them."""
    waits = sets.find_waits(code, place)
    calls = [(file, node.value if isinstance(node, ast.Await) else node) for file, node in waits]
    given = [(file, call.args[0]) for file, call in calls if isinstance(call, ast.Call) and call.args]
    return [item for item in given if _can_repeat(*item)]


def _find_base(code: Code, place: Place, depth: int) -> Place | None:
    """What can be gone through again, in the same scope, and holds every element of a set in an order."""
    file, node = place
    if isinstance(node, ast.Call) and file.called(node) in ("set", "frozenset") and len(node.args) == 1:
        inner = (file, node.args[0])
        if sets.is_set(code, inner):
            return _find_base(code, inner, depth + 1)
        return inner if _can_repeat(file, node.args[0]) else None
    if isinstance(node, ast.SetComp) and len(node.generators) == 1:
        loop = node.generators[0]
        if ast.unparse(node.elt) != ast.unparse(loop.target):
            return place if _can_repeat(file, loop.iter) else None
        inner = (file, loop.iter)
        if sets.is_set(code, inner):
            return _find_base(code, inner, depth + 1)
        return inner if _can_repeat(file, loop.iter) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Sub, ast.BitAnd)):
        return _find_base(code, (file, node.left), depth + 1)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        kept = node.func.attr in ("difference", "intersection")
        return _find_base(code, (file, node.func.value), depth + 1) if kept else None
    if isinstance(node, ast.Name) and depth < 6:
        values = find_given(code, place)
        if len(values) == 1 and file.scope(values[0][1]) is file.scope(node):
            return _find_base(code, values[0], depth + 1)
    return None


def _can_repeat(file: File, node: ast.expr) -> bool:
    """Whether an expression gives the same elements each time that it is evaluated."""
    if isinstance(node, ast.Name):
        return True
    if isinstance(node, ast.Attribute):
        return _can_repeat(file, node.value)
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("parameters", "modules", "children", "buffers", "values", "keys", "items")
        and not node.args
        and _can_repeat(file, node.func.value)
    )
