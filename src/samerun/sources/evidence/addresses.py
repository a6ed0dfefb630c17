"""What follows where objects lie in memory: the one rule, for evidence and for edits."""

from __future__ import annotations

import ast

from samerun.editing.source_file import get_last_name

_HASHED_SO = frozenset({"Module", "object", "Dataset", "ABC"})  # bases that leave hashing as it is


def is_hashed_by_address(made: ast.ClassDef) -> bool:
    """Whether instances of a class are, as modules are and plain classes: nothing in sight says otherwise."""
    methods = {item.name for item in made.body if isinstance(item, ast.FunctionDef)}
    plain = all("eq=False" in ast.unparse(item).replace(" ", "") for item in made.decorator_list)
    bases = {get_last_name(base) for base in made.bases}
    return plain and bases <= _HASHED_SO and not methods & {"__hash__", "__eq__"}


def takes_address(node: ast.AST, called: str | None) -> bool:
    """Whether an expression gives an address; `called` is the name of what it calls, as far as known."""
    return isinstance(node, ast.Call) and (called == "id" or get_last_name(node) == "data_ptr")
