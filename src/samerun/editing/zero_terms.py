"""Sums of which an edit makes one term 0: the term goes, as an author would have it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from samerun.editing.edit import Change, Edit, NoEdit, Opening
from samerun.editing.source_file import File
from samerun.editing.user_program import Code

_WHOLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant)  # they need no parentheses anywhere


def leave_out_zeros(edits: Sequence[Edit], code: Code) -> list[Edit]:
    """The edits; `seed + os.getpid()` becomes `seed`, and not `seed + 0`."""
    return [_replace_sum(edit, code, edits) if _is_zero(edit) else edit for edit in edits]


def _is_zero(edit: Edit) -> bool:
    return isinstance(edit, Change) and edit.text == "0" and not edit.imports


def _replace_sum(edit: Edit, code: Code, edits: Sequence[Edit]) -> Edit:
    assert isinstance(edit, Change)
    file = code.file(edit.path)
    for node in file.every(ast.BinOp):
        other = _find_other(file, node, edit)
        if other is None:
            continue
        start, end = file.span(node)
        if any(_is_within(each, edit.path, start, end) for each in edits if each is not edit):
            return edit
        return replace(edit, start=start, end=end, text=file.said(other))
    return edit


def _find_other(file: File, node: ast.BinOp, edit: Change) -> ast.expr | None:
    """The other term of a sum, where one is what the edit replaces; None where it cannot stand alone."""
    terms = {ast.Add: [(node.left, node.right), (node.right, node.left)], ast.Sub: [(node.right, node.left)]}
    for term, other in terms.get(type(node.op), []):
        try:
            is_it = file.span(term) == (edit.start, edit.end)
        except NoEdit:  # in a string, where places are not known
            continue
        if is_it and isinstance(other, _WHOLE):
            return other
    return None


def _is_within(edit: Edit, path: str, start: int, end: int) -> bool:
    if isinstance(edit, Opening) or edit.path != path:
        return False
    return edit.start < end and start < edit.end
