"""The edits that sort a listed folder."""

from __future__ import annotations

import ast

from samerun.editing.data_flow import find_behind
from samerun.editing.edit import Edit
from samerun.editing.edit_builders import insert_before
from samerun.editing.source_file import File, get_last_name
from samerun.editing.user_program import Code
from samerun.sources.edits import sort_before_use

_FUNCTIONS = frozenset(["os.listdir", "os.scandir", "os.walk", "os.fwalk", "glob.glob", "glob.iglob"])
_METHODS = frozenset({"iterdir", "glob", "rglob", "walk", "iglob", "scandir", "listdir"})
_BY_NAME = "lambda entry: entry.name"


def sort_at(code: Code, site: str | None) -> list[Edit]:
    """Sorts what is listed at a call site; [] when it is sorted, or nothing there lists. Raises NoEdit."""
    file, found = code.expressions(site)
    calls = [node for node in found if lists(file, node)]
    edits: list[Edit] = []
    if calls:
        for call in calls:
            assert isinstance(call, ast.Call)
            edits += _sort(file, call)
        return edits
    for node in found:  # an iterator that was made elsewhere
        parent = file.parent(node)
        if isinstance(node, ast.Name) and isinstance(parent, (ast.For, ast.comprehension, ast.Call)):
            for other, call in find_behind(code, (file, node), lists):
                assert isinstance(call, ast.Call)
                if other is file and get_last_name(call) == "scandir":
                    edits += sort_before_use.sort_node(file, node, _BY_NAME)
                else:
                    edits += _sort(other, call)
    return list(dict.fromkeys(edits))


def lists(file: File, node: ast.expr) -> bool:
    """Whether a call lists a folder."""
    if not isinstance(node, ast.Call):
        return False
    name = file.called(node)
    if name:
        return name in _FUNCTIONS or (name.startswith("pathlib.") and get_last_name(node) in _METHODS)
    return isinstance(node.func, ast.Attribute) and get_last_name(node) in _METHODS


def _sort(file: File, call: ast.Call) -> list[Edit]:
    name = get_last_name(call)
    if name in ("walk", "fwalk"):
        return _walk(file, call)
    if name == "scandir":
        parent = file.parent(call)
        if isinstance(parent, ast.withitem):
            return _sort_iterator(file, parent)
        return (
            []
            if sort_before_use.is_unordered(file, call)
            else sort_before_use.sort_node(file, call, _BY_NAME)
        )
    return [] if sort_before_use.is_unordered(file, call) else sort_before_use.sort_node(file, call)


def _sort_iterator(file: File, item: ast.withitem) -> list[Edit]:
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
                edits += sort_before_use.sort_node(file, node, _BY_NAME)
    return edits


def _walk(file: File, call: ast.Call) -> list[Edit]:
    """The folders in order, and the files of each."""
    parent = file.parent(call)
    target = parent.target if isinstance(parent, (ast.For, ast.comprehension)) else None
    names = [node.id if isinstance(node, ast.Name) else "_" for node in getattr(target, "elts", [])][:3]
    if isinstance(parent, ast.For) and len(names) == 3:
        first, folders, files = parent.body[0], names[1], names[2]
        lines = [] if files.startswith("_") else [f"{files}.sort()"]
        if folders.startswith("_"):
            return [
                *sort_before_use.sort_node(file, call),
                *(insert_before(file, first, line) for line in lines),
            ]
        return [insert_before(file, first, line) for line in (f"{folders}.sort()", *lines)]
    if isinstance(parent, ast.comprehension) and len(names) == 3:
        edits = sort_before_use.sort_node(file, call)
        made = file.parent(parent)
        for other in getattr(made, "generators", []):
            if isinstance(other.iter, ast.Name) and other.iter.id in names[1:]:
                edits += sort_before_use.sort_node(file, other.iter)
        return edits
    outer = file.parent(parent) if isinstance(parent, ast.Call) and file.called(parent) == "next" else None
    if isinstance(outer, ast.Subscript):  # next(os.walk(folder))[2]
        return [] if sort_before_use.is_unordered(file, outer) else sort_before_use.sort_node(file, outer)
    return sort_before_use.sort_node(file, call)
