"""What is in a set, a list or another container, as far as the code that fills it tells."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence

from samerun.editing.data_flow import Place, find_given
from samerun.editing.index import index
from samerun.editing.source_file import File, get_last_name
from samerun.editing.user_program import Code
from samerun.sources.evidence.addresses import is_hashed_by_address

_PASS_ON = frozenset("set frozenset list tuple sorted dict.fromkeys iter reversed".split())  # noqa: SIM905 - words
_SAME_ELEMENTS = frozenset({"union", "intersection", "difference", "symmetric_difference", "copy", "keys"})
_LEFT_ONES = (ast.Sub, ast.BitAnd, ast.Mult)  # operators that give nothing of their right side
_OF_TEXTS = frozenset({"split", "splitlines", "listdir"})
_OF_MODULES = frozenset({"parameters", "modules", "children", "buffers"})
_OF_EACH_MODULE = frozenset({"weight", "bias"})
_TEXT = frozenset(
    """split splitlines listdir strip lower upper replace join format decode read read_text readline group
    title casefold lstrip rstrip removesuffix removeprefix capitalize hex hexdigest""".split()  # noqa: SIM905 - words
)


def are_texts(code: Code, place: Place) -> bool:
    """Whether the elements of something can be seen to be strings, each of them."""
    return _are(_is_text, code, _Search(code).elements(place))


def are_objects(code: Code, place: Place) -> bool:
    """Whether the elements of something can be seen to be objects hashed by their address, each of them."""
    return _are(_is_object, code, _Search(code).elements(place))


def is_object(code: Code, place: Place) -> bool:
    """Whether an expression can be seen to be an object that is hashed by its address."""
    return _are(_is_object, code, _Search(code).values(place))


def is_text(code: Code, place: Place) -> bool:
    """Whether an expression can be seen to be a string."""
    return _are(_is_text, code, _Search(code).values(place))


def _are(kind: Callable[[Code, Place], bool], code: Code, places: list[Place] | None) -> bool:
    return bool(places) and all(kind(code, place) for place in places or ())


class _Search:
    """Reads backwards from one expression to those that give it its values, each of them once.

    What cannot be followed makes the whole unknown: None.
    """

    def __init__(self, code: Code) -> None:
        self._code = code
        self._seen: set[tuple[int, bool]] = set()

    def elements(self, place: Place) -> list[Place] | None:
        """The expressions of the elements of a container."""
        file, node = place
        if self._has_been_seen(node, True):
            return []
        written = _list_written_elements(node)
        if written is not None:
            return self._all(self.values, file, written)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return [place]  # its letters
        if isinstance(node, ast.Call) and get_last_name(node) in _OF_TEXTS | _OF_MODULES:
            return [place]
        same = _list_parts_with_its_elements(file, node)
        if same:
            return self._all(self.elements, file, same)
        if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
            return self._of_container(place)
        return None

    def values(self, place: Place) -> list[Place] | None:
        """The expressions whose value a name or an element has, else the expression itself."""
        file, node = place
        if isinstance(node, ast.Starred):
            return self.elements((file, node.value))
        if isinstance(node, ast.Subscript) and _is_number(node.slice):
            return self.elements((file, node.value))
        if not isinstance(node, (ast.Name, ast.Attribute)) or _is_annotated_text(file, node):
            return [place]
        if _is_self(file, node) or _is_parameter(file, node):
            return [place]
        if self._has_been_seen(node, False):
            return []
        if isinstance(node, ast.Name) and (through := _find_gone_through(file, node)) is not None:
            return self.elements((file, through)) if through is not node else None
        made = find_given(self._code, place)
        return self._concatenated(map(self.values, made)) if made else None

    def _of_container(self, place: Place) -> list[Place] | None:
        file, node = place
        if isinstance(node, ast.Name) and (through := _find_gone_through(file, node)) is not None:
            each = self.elements((file, through)) if through is not node else None
            return None if each is None else self._concatenated(map(self.elements, each))
        made = [item for item in find_given(self._code, place) if not _is_empty(*item)]
        added = [(file, value) for value in index(file).added[ast.unparse(node)]]
        if not made and not added:
            return None
        return self._concatenated([*map(self.elements, made), *map(self.values, added)])

    def _all(
        self, read: Callable[[Place], list[Place] | None], file: File, nodes: Iterable[ast.expr]
    ) -> list[Place] | None:
        return self._concatenated(read((file, node)) for node in nodes)

    def _concatenated(self, parts: Iterable[list[Place] | None]) -> list[Place] | None:
        found: list[Place] = []
        for part in parts:
            if part is None:
                return None
            found += part
        return found

    def _has_been_seen(self, node: ast.expr, as_container: bool) -> bool:
        key = id(node), as_container
        known = key in self._seen
        self._seen.add(key)
        return known


def _list_written_elements(node: ast.expr) -> Sequence[ast.expr] | None:
    """The elements of a container that is written out here, or the one expression that makes them all."""
    if isinstance(node, (ast.Set, ast.List, ast.Tuple)):
        return node.elts
    if isinstance(node, (ast.SetComp, ast.ListComp, ast.GeneratorExp)):
        return [node.elt]
    if isinstance(node, ast.Dict):
        return [key for key in node.keys if key is not None]
    return None


def _list_parts_with_its_elements(file: File, node: ast.expr) -> Sequence[ast.expr]:
    """The containers that an expression takes its elements from, where its form tells."""
    if isinstance(node, ast.BinOp):
        return [node.left] if isinstance(node.op, _LEFT_ONES) else [node.left, node.right]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return [node.value]
    if isinstance(node, ast.Call):
        if file.called(node) in _PASS_ON and len(node.args) == 1:
            return node.args
        if isinstance(node.func, ast.Attribute) and node.func.attr in _SAME_ELEMENTS:
            return [node.func.value]
    return []


def _find_gone_through(file: File, name: ast.Name) -> ast.expr | None:
    """What a loop goes through whose variable a name is; the name itself where it is only a part of one."""
    for outer in file.around(name):
        loops = [outer] if isinstance(outer, (ast.For, ast.AsyncFor)) else getattr(outer, "generators", [])
        for loop in reversed(loops):
            if loop.iter is name or not binds(loop.target, name.id):
                continue
            through: ast.expr = loop.iter
            return through if isinstance(loop.target, ast.Name) else name
    return None


def binds(target: ast.expr, name: str) -> bool:
    """Whether a loop's variable, or one of them, has this name."""
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(target))


def _is_text(code: Code, place: Place) -> bool:
    file, node = place
    if _is_parameter(file, node):
        return False
    if isinstance(node, (ast.JoinedStr, ast.Name, ast.Attribute)) and not _is_self(file, node):
        return True  # a name that is left is annotated as a text
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    if isinstance(node, ast.Call):
        return file.called(node) in ("str", "repr") or get_last_name(node) in _TEXT
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        parts = [node.left, *([node.right] if isinstance(node.op, ast.Add) else [])]
        return any(is_text(code, (file, item)) for item in parts)
    return False


def _is_self(file: File, node: ast.expr) -> bool:
    """Whether a name is the instance whose method it stands in."""
    return isinstance(node, ast.Name) and node.id == "self" and file.owner(node) is not None


def _is_parameter(file: File, node: ast.expr) -> bool:
    """Whether it is a tensor of the modules that a loop goes through: `m.weight for m in net.modules()`."""
    if not isinstance(node, ast.Attribute) or node.attr not in _OF_EACH_MODULE:
        return False
    name = node.value
    through = _find_gone_through(file, name) if isinstance(name, ast.Name) else None
    return isinstance(through, ast.Call) and get_last_name(through) in ("modules", "children")


def _is_object(code: Code, place: Place) -> bool:
    file, node = place
    if _is_self(file, node):
        owner = file.owner(node)
        return owner is not None and is_hashed_by_address(owner)
    if not isinstance(node, ast.Call):
        return _is_parameter(file, node)
    if file.called(node) == "object" or get_last_name(node) in _OF_MODULES:
        return True
    classes = (item for other in code.files for item in other.every(ast.ClassDef))
    return any(item.name == get_last_name(node) and is_hashed_by_address(item) for item in classes)


def _is_empty(file: File, node: ast.expr) -> bool:
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return not node.elts
    return file.called(node) in ("set", "list") and isinstance(node, ast.Call) and not node.args


def _is_number(node: ast.expr) -> bool:
    number = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(number, ast.Constant) and isinstance(number.value, int)


def _is_annotated_text(file: File, node: ast.expr) -> bool:
    """Whether a parameter, or a field of a class, is said to be a `str`."""
    if isinstance(node, ast.Attribute):
        fields = (item for item in file.every(ast.AnnAssign) if isinstance(file.parent(item), ast.ClassDef))
        return any(get_last_name(item.target) == node.attr and _is_str(item.annotation) for item in fields)
    function = file.function(node)
    return any(
        isinstance(item, ast.arg) and item.arg == get_last_name(node) and _is_str(item.annotation)
        for item in (ast.walk(function.args) if function is not None else ())
    )


def _is_str(annotation: ast.expr | None) -> bool:
    return annotation is not None and ast.unparse(annotation) == "str"
