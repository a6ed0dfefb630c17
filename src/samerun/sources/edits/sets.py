"""Where the user's code makes an order out of sets and hashes, and the edits that fix that order."""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from samerun.editing import set_uses
from samerun.editing.data_flow import Place, find_behind, find_functions, find_given
from samerun.editing.edit import Edit, NoEdit, Opening
from samerun.editing.edit_builders import replace_node
from samerun.editing.import_names import write_name
from samerun.editing.source_file import File, get_last_name
from samerun.editing.user_program import Code
from samerun.sources.edits import listings, seeds, sort_before_use
from samerun.sources.edits.container_elements import are_objects, are_texts, binds, is_text
from samerun.sources.edits.sort_before_use import Key

_MAKERS = frozenset({"set", "frozenset"})
_BUILTINS = frozenset(dir(builtins))
_TAKE_SETS = frozenset(  # in any order: methods of sets and lists, and what only shows
    """update union intersection difference symmetric_difference issubset issuperset isdisjoint add append
    put debug info""".split()  # noqa: SIM905 - words, as they are read
)
_IN_ORDER = frozenset(["list", "tuple", "iter", "enumerate", "zip", "map", "filter", "next"])
_METHODS = frozenset(
    {"join", "extend", "fromkeys", "array", "fromiter", "chain", "from_iterable", "deque", "Series"}
)
_COST = (
    "what came in the order of a set comes in that of its names: where that order mixed the data, shuffle it "
    "with a seeded generator"
)
_DEEPEST = 5
_WAITS = frozenset({"concurrent.futures.wait", "asyncio.wait"})


def find_ordered_sets(code: Code) -> Iterator[Place]:
    """The sets that something goes through in their own order, where that order can matter."""
    for file in code.files:
        for node in file.every(ast.expr):
            if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)) or not _is_gone_through(
                file, node
            ):
                continue
            if is_set(code, (file, node)) and not sort_before_use.is_unordered(file, node):
                yield file, node


def is_set(code: Code, place: Place, depth: int = _DEEPEST) -> bool:
    """Whether an expression is a set, as far as its assignments, arguments and annotations tell."""
    return _is_set(code, *place, depth)


@functools.lru_cache(maxsize=65_536)  # each value of a name has names of its own: asked for again and again
def _is_set(code: Code, file: File, node: ast.expr, depth: int) -> bool:
    if isinstance(node, (ast.Set, ast.SetComp)):
        return True
    if isinstance(node, ast.Call):
        if file.called(node) in _MAKERS:
            return True
        if isinstance(node.func, ast.Attribute) and node.func.attr in (*set_uses.OPERATIONS, "copy"):
            return is_set(code, (file, node.func.value), depth)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)):
        return any(_is_view(item) or is_set(code, (file, item), depth) for item in (node.left, node.right))
    if isinstance(node, ast.IfExp):
        return is_set(code, (file, node.body), depth) or is_set(code, (file, node.orelse), depth)
    if depth == 0 or not isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
        return False
    if isinstance(node, ast.Name) and _is_loop_variable(file, node):
        return False
    values = [item for item in find_given(code, (file, node)) if item[1] is not node]
    return any(_is_annotated(*item) or is_set(code, item, depth - 1) for item in values)


def find_ordered_weak_sets(code: Code) -> Iterator[Place]:
    """The sets of weak references that something goes through: in the order of addresses."""
    for file in code.files:
        for node in file.every(ast.expr):
            if isinstance(node, (ast.Name, ast.Attribute)) and _is_gone_through(file, node):
                values = [value for _, value in find_given(code, (file, node))]
                if any(isinstance(value, ast.Call) and get_last_name(value) == "WeakSet" for value in values):
                    yield file, node


def find_ordered_waits(code: Code) -> Iterator[Place]:
    """The sets of futures or tasks that `wait` gives and that something goes through: by their addresses."""
    for file in code.files:
        for node in file.every(ast.expr):
            named = isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))
            if not named or not _is_gone_through(file, node) or sort_before_use.is_unordered(file, node):
                continue
            if find_waits(code, (file, node)):
                yield file, node


def find_waits(code: Code, place: Place) -> list[Place]:
    """The calls of `wait` for all that an expression has its futures from: `done` of `done, _ = wait(…)`."""
    file, node = place
    taken = (file, _take_whole(node))
    given = [taken] if isinstance(taken[1], (ast.Call, ast.Await)) else find_given(code, taken)
    return [item for item in ((other, _take_whole(value)) for other, value in given) if _waits_for_all(*item)]


def _take_whole(node: ast.expr) -> ast.expr:
    """Of `wait(…).done` and `wait(…)[0]` the call."""
    is_part = isinstance(node, ast.Subscript) or getattr(node, "attr", None) in ("done", "not_done")
    return node.value if isinstance(node, (ast.Subscript, ast.Attribute)) and is_part else node


def _waits_for_all(file: File, node: ast.expr) -> bool:
    if isinstance(node, ast.Await):
        node = node.value
    if not isinstance(node, ast.Call) or file.called(node) not in _WAITS:
        return False
    until = [*node.args[2:3], *(item.value for item in node.keywords if item.arg == "return_when")]
    return all("ALL_COMPLETED" in ast.unparse(item) for item in until)


def find_popped(code: Code) -> Iterator[Place]:
    """The sets that elements are taken out of by `.pop()`, in their own order."""
    for file in code.files:
        for call in file.every(ast.Call):
            pops = isinstance(call.func, ast.Attribute) and call.func.attr == "pop" and not call.args
            if pops and isinstance(call.func, ast.Attribute) and is_set(code, (file, call.func.value)):
                yield file, call.func.value


def hashes(code: Code) -> Iterator[Place]:
    """The calls of `hash`, but those that make an object's own."""
    for file in code.files:
        for call in file.every(ast.Call):
            function = file.function(call)
            if file.called(call) == "hash" and (function is None or function.name != "__hash__"):
                yield file, call


def find_given_away(code: Code) -> Iterator[Place]:
    """The sets that are given to something whose code is not known, which may go through them."""
    for file in code.files:
        for call in file.every(ast.Call):
            if (
                file.called(call) in _BUILTINS
                or get_last_name(call) in _TAKE_SETS
                or find_functions(code, file, call)
            ):
                continue
            yield from ((file, item) for item in call.args if is_set(code, (file, item)))


def find_makers(code: Code, place: Place) -> list[Place]:
    """The expressions that make the set that a name stands for."""
    return find_behind(
        code, place, lambda file, node: isinstance(node, (ast.Set, ast.SetComp)) or file.called(node) == "set"
    )


def classify_elements(code: Code, place: Place) -> Literal["text", "object", "unknown"]:
    """What the elements of a set can be seen to be: strings, objects hashed by their address, or neither."""
    if place[0].called(place[1]) == "hash" or are_texts(code, place):
        return "text"
    return "object" if are_objects(code, place) else "unknown"


def pop_in_order(code: Code) -> list[Edit]:
    """Sets of strings that elements are popped from become sorted lists, where a list can stand for them."""
    edits: list[Edit] = []
    for place in find_popped(code):
        for file, maker in find_makers(code, place):
            uses = set_uses.list_method_calls(code, (file, maker))
            as_list = uses is not None and all(
                get_last_name(call) in set_uses.AS_LIST | {"remove"} for _, call in uses
            )
            if as_list and classify_elements(code, (file, maker)) != "object":
                edits += put_in_order((file, maker), code)
    return edits


def put_all_in_order(code: Code) -> list[Edit]:
    """What goes through sets has them sorted; one with several such places is sorted as it is made.

    So no place is left out, in whose order the others are understood: names of classes, and their numbers.
    """
    edits: list[Edit] = []
    for place in find_ordered_sets(code):
        makers = find_makers(code, place)
        shared = len(makers) == 1 and _is_shared(code, makers[0])
        edits += put_in_order(makers[0] if shared else place, code)
    return list(dict.fromkeys(edits))


def _is_shared(code: Code, maker: Place) -> bool:
    """Whether a set is gone through at several places, and a list can stand for it at each."""
    file, made = maker
    use = file.parent(made)
    if (
        not isinstance(use, ast.Assign)
        or len(use.targets) != 1
        or set_uses.list_method_calls(code, maker) != []
    ):
        return False
    uses = set_uses.find_named_uses(code, file, use.targets[0]) or []
    return sum(not _is_looked_at(*item) for item in uses) > 1


def _is_looked_at(file: File, node: ast.expr) -> bool:
    """Whether only what is in a set is asked."""
    use = file.parent(node)
    if isinstance(use, ast.Call) and node in use.args:
        return file.called(use) in sort_before_use.UNORDERED
    return isinstance(use, (ast.Compare, ast.If, ast.While, ast.IfExp, ast.BoolOp, ast.UnaryOp, ast.Assert))


def put_in_order(place: Place, code: Code) -> list[Edit]:
    """`sorted(…)` around a set; by `str` where its elements may not be comparable.

    Names of files, and what is then cut in parts, are put in the order of a hash: sorted, the classes
    `cat_1, cat_2, …, dog_1, …` would come one after the other, where a set mixes them.
    """
    file, node = place
    texts, numbered = are_texts(code, place), _is_numbered(file, node)
    if not numbered and (_is_of_files(code, place) or _is_cut(file, node)):
        sha256, imports = write_name(file, "hashlib.sha256", node)
        name = "name" if texts else "str(name)"
        key = Key(f"lambda name: {sha256}({name}.encode()).digest()", imports)
        return sort_before_use.sort_node(file, node, key)
    cost = "" if numbered else _COST
    edits = sort_before_use.sort_node(file, node, Key("" if texts else "str"))
    return [edit if isinstance(edit, Opening) else replace(edit, cost=cost) for edit in edits]


def _is_numbered(file: File, node: ast.expr) -> bool:
    """Whether each element gets a number, or a key: the order of a vocabulary mixes nothing."""
    for outer in file.around(node):
        if isinstance(outer, ast.DictComp) or file.called(outer) == "enumerate":
            return True
        if isinstance(outer, ast.stmt):
            break
    return False


def _is_of_files(code: Code, place: Place) -> bool:
    """Whether the elements of a set come from the listing of a folder."""
    return bool(find_behind(code, place, listings.lists))


def _is_cut(file: File, node: ast.expr) -> bool:
    """Whether only the first of a set are taken, or its list is cut in parts: they are the test set."""
    made = file.parent(node)
    if isinstance(made, ast.For):
        return any(isinstance(item, ast.Break) for item in ast.walk(made))
    if isinstance(made, ast.Call) and get_last_name(made) == "islice":
        return True
    target = file.parent(made) if isinstance(made, ast.Call) and file.called(made) == "list" else None
    if isinstance(target, ast.Subscript):
        return isinstance(target.slice, ast.Slice)
    if not isinstance(target, ast.Assign):
        return False
    names = {item.id for item in target.targets if isinstance(item, ast.Name)}
    return any(
        isinstance(item.slice, ast.Slice) and isinstance(item.value, ast.Name) and item.value.id in names
        for item in file.every(ast.Subscript)
    )


def make_hashes_constant(code: Code, *, all_of_them: bool) -> list[Edit]:
    """`hash(text)` becomes `zlib.crc32(text.encode())`: where a number is made of it, or all of them."""
    edits: list[Edit] = []
    for file, call in hashes(code):
        if (
            not isinstance(call, ast.Call)
            or len(call.args) != 1
            or not (all_of_them or _is_number(file, call))
        ):
            continue
        if constant := seeds.fix_in_seed(file, call, _hashes_constants):
            edits += constant
            continue
        crc, missing = write_name(file, "zlib.crc32", call)
        said = file.said(call.args[0])
        plain = isinstance(call.args[0], (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
        text = said if plain else f"({said})"
        if not is_text(code, (file, call.args[0])):
            text = f"str({said})"
        elif isinstance(call.args[0], (ast.Constant, ast.JoinedStr)):
            text = said
        try:
            edits.append(replace_node(file, call, f"{crc}({text}.encode())", missing))
        except NoEdit:
            continue
    return edits


def _hashes_constants(file: File, node: ast.expr) -> bool:
    """Whether a call is the hash of constants."""
    if not isinstance(node, ast.Call) or file.called(node) != "hash":
        return False
    return not any(isinstance(item, ast.Name) for argument in node.args for item in ast.walk(argument))


def _is_number(file: File, call: ast.Call) -> bool:
    """Whether a hash is cut to a number (`hash(word) % 1000`) or seeds something."""
    for outer in file.around(call):
        if isinstance(outer, ast.BinOp) and isinstance(outer.op, (ast.Mod, ast.BitAnd, ast.RShift)):
            return True
        if isinstance(outer, ast.Call) and seeds.is_seeding(outer):
            return True
        if isinstance(outer, ast.stmt):
            return False
    return False


def _is_gone_through(file: File, node: ast.expr) -> bool:
    """Whether an expression is used in a way that follows its order."""
    parent = file.parent(node)
    if isinstance(parent, (ast.For, ast.AsyncFor, ast.comprehension)):
        return parent.iter is node
    if isinstance(parent, ast.YieldFrom):
        return True
    if isinstance(parent, ast.Starred):
        return isinstance(file.parent(parent), (ast.Call, ast.List, ast.Tuple))
    if isinstance(parent, ast.Assign):
        return parent.value is node and any(
            isinstance(target, (ast.Tuple, ast.List)) for target in parent.targets
        )
    if isinstance(parent, ast.Call) and node in parent.args:
        name = file.called(parent)
        if name in ("min", "max", "sorted"):
            return any(item.arg == "key" for item in parent.keywords)
        return name in _IN_ORDER or (
            isinstance(parent.func, ast.Attribute) and get_last_name(parent) in _METHODS
        )
    return False


def _is_view(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and get_last_name(node) in ("keys", "items") and not node.args


def _is_loop_variable(file: File, name: ast.Name) -> bool:
    """Whether a name stands for the elements of something rather than for the thing."""
    for outer in file.around(name):
        if isinstance(outer, (ast.For, ast.AsyncFor)) and binds(outer.target, name.id):
            return True
        generators = getattr(outer, "generators", [])
        if any(binds(item.target, name.id) for item in generators):
            return True
    return False


def _is_annotated(file: File, value: ast.expr) -> bool:
    parent = file.parent(value)
    return isinstance(parent, ast.AnnAssign) and set_uses.is_set_type(parent.annotation)
