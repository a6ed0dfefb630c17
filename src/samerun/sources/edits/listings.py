"""The edits that sort a listed folder: by name, or by a hash of it where names fall in groups."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from samerun.editing.data_flow import find_behind
from samerun.editing.edit import Edit, NoEdit
from samerun.editing.edit_builders import insert_before
from samerun.editing.import_names import write_name
from samerun.editing.source_file import File, get_last_name
from samerun.editing.user_program import Code
from samerun.sources.edits import sort_before_use
from samerun.sources.edits.sort_before_use import Key

_FUNCTIONS = frozenset(["os.listdir", "os.scandir", "os.walk", "os.fwalk", "glob.glob", "glob.iglob"])
Kind = Literal["plain", "numbered", "grouped"]
_METHODS = frozenset({"iterdir", "glob", "rglob", "walk", "iglob", "scandir", "listdir"})


def sort_at(code: Code, site: str | None, kind: Kind = "plain") -> list[Edit]:
    """Sorts what is listed at a call site; [] when it is sorted, or nothing there lists. Raises NoEdit.

    `kind`: sorted as texts, the names come in their order ("plain"), or not by their numbers ("numbered"), or
    fall in groups (cat_1, cat_2, dog_1, …) that sorting would bring together ("grouped").
    """
    file, found = code.expressions(site)
    calls = [node for node in found if isinstance(node, ast.Call) and lists(file, node)]
    edits: list[Edit] = []
    if calls:
        for call in calls:
            edits += _sort(file, call, kind)
        beside = [call for call in _find_beside(file, calls) if _sort(file, call, kind)]
        if kind == "grouped" and edits and (beside or len(calls) > 1):
            lines = ", ".join(dict.fromkeys(file.site(call.lineno) for call in [*calls, *beside]))
            raise NoEdit(
                f"several listings may belong together, in {lines}: sorted by a hash of the names they would "
                "not, and sorted by name those of one kind come together; sort them alike, and shuffle what "
                "they give with a seed"
            )
        for call in beside if edits else ():
            edits += _sort(file, call, kind)
        return list(dict.fromkeys(edits))
    for node in found:  # an iterator that was made elsewhere
        parent = file.parent(node)
        if isinstance(node, ast.Name) and isinstance(parent, (ast.For, ast.comprehension, ast.Call)):
            for other, made in find_behind(code, (file, node), lists):
                assert isinstance(made, ast.Call)
                if other is file and get_last_name(made) == "scandir":
                    edits += sort_before_use.sort_node(file, node, _make_key(file, made, kind))
                else:
                    edits += _sort(other, made, kind)
    return list(dict.fromkeys(edits))


def _find_beside(file: File, calls: Sequence[ast.Call]) -> list[ast.Call]:
    """The other listings of a file, none of which goes through what one of these lists, or the other way.

    Images and their labels, say, that are paired by their places: none is sorted alone.
    """
    others = [node for node in file.every(ast.Call) if lists(file, node) and node not in calls]
    return [item for item in others if not any(_is_nested(file, item, call) for call in calls)]


def _is_nested(file: File, one: ast.Call, other: ast.Call) -> bool:
    return any(_goes_through(file, inner, outer) for inner, outer in ((one, other), (other, one)))


def _goes_through(file: File, inner: ast.AST, call: ast.Call) -> bool:
    """Whether a node stands in a loop over what a call lists."""
    for outer in file.around(inner):
        loops = [outer] if isinstance(outer, (ast.For, ast.AsyncFor)) else getattr(outer, "generators", [])
        if any(call in ast.walk(loop.iter) for loop in loops):
            return inner not in ast.walk(loops[0].iter)
    return False


def lists(file: File, node: ast.expr) -> bool:
    """Whether a call lists a folder."""
    if not isinstance(node, ast.Call):
        return False
    name = file.called(node)
    if name:
        return name in _FUNCTIONS or (name.startswith("pathlib.") and get_last_name(node) in _METHODS)
    return isinstance(node.func, ast.Attribute) and get_last_name(node) in _METHODS


def _make_key(file: File, call: ast.Call, kind: Kind) -> Key:
    """What to sort the things by that a call lists. Of equal hashes the path decides."""
    of_entries, called = get_last_name(call) == "scandir", file.called(call) in _FUNCTIONS
    if kind == "plain":
        return Key("lambda entry: entry.name" if of_entries else "")
    if kind == "numbered":
        split, imports = write_name(file, "re.split", call)
        name, text = ("entry", "entry.name") if of_entries else ("name", "name" if called else "str(name)")
        parts = f'{split}(r"(\\d+)", {text})'
        return Key(f"lambda {name}: [int(part) if part.isdecimal() else part for part in {parts}]", imports)
    sha256, imports = write_name(file, "hashlib.sha256", call)
    if of_entries:
        return Key(f"lambda entry: {sha256}(entry.name.encode()).digest()", imports)
    if get_last_name(call) in ("listdir", "walk", "fwalk"):
        return Key(f"lambda name: {sha256}(name.encode()).digest()", imports)
    if called:
        basename, more = write_name(file, "os.path.basename", call)
        return Key(f"lambda path: ({sha256}({basename}(path).encode()).digest(), path)", (*imports, *more))
    return Key(f"lambda path: ({sha256}(path.name.encode()).digest(), path)", imports)


def _sort(file: File, call: ast.Call, kind: Kind) -> list[Edit]:
    name, key = get_last_name(call), _make_key(file, call, kind)
    parent = file.parent(call)
    if name in ("walk", "fwalk"):
        return _walk(file, call, key)
    if name == "scandir" and isinstance(parent, ast.withitem):
        return _sort_iterator(file, parent, key)
    return [] if sort_before_use.is_unordered(file, call) else sort_before_use.sort_node(file, call, key)


def _sort_iterator(file: File, item: ast.withitem, key: Key) -> list[Edit]:
    """`with os.scandir(folder) as entries:`: sorts where the entries are gone through."""
    if not isinstance(item.optional_vars, ast.Name):
        return []
    edits: list[Edit] = []
    body = file.statement(item)
    for node in ast.walk(body):
        if isinstance(node, ast.Name) and node.id == item.optional_vars.id and isinstance(node.ctx, ast.Load):
            at = file.parent(node)
            gone_through = isinstance(at, (ast.For, ast.comprehension)) or (
                isinstance(at, ast.Call) and file.called(at) in ("list", "tuple", "sorted", "enumerate")
            )
            if gone_through and not sort_before_use.is_unordered(file, node):
                edits += sort_before_use.sort_node(file, node, key)
    return edits


def _walk(file: File, call: ast.Call, key: Key) -> list[Edit]:
    """The folders in order, and the files of each."""
    parent = file.parent(call)
    target = parent.target if isinstance(parent, (ast.For, ast.comprehension)) else None
    names = [node.id if isinstance(node, ast.Name) else "_" for node in getattr(target, "elts", [])][:3]
    if isinstance(parent, ast.For) and len(names) == 3:
        first, folders, files = parent.body[0], names[1], names[2]
        by = f"key={key.text}" if key.text else ""
        sorts: list[Edit] = [
            replace(insert_before(file, first, f"{name}.sort({by})"), imports=key.imports)
            for name in (folders, files)
            if not name.startswith("_")
        ]
        return [*sort_before_use.sort_node(file, call), *sorts] if folders.startswith("_") else sorts
    if isinstance(parent, ast.comprehension) and len(names) == 3:
        edits = sort_before_use.sort_node(file, call)
        made = file.parent(parent)
        for other in getattr(made, "generators", []):
            if isinstance(other.iter, ast.Name) and other.iter.id in names[1:]:
                edits += sort_before_use.sort_node(file, other.iter, key)
        return edits
    outer = file.parent(parent) if isinstance(parent, ast.Call) and file.called(parent) == "next" else None
    if isinstance(outer, ast.Subscript):  # next(os.walk(folder))[2]
        return (
            [] if sort_before_use.is_unordered(file, outer) else sort_before_use.sort_node(file, outer, key)
        )
    return sort_before_use.sort_node(file, call)
