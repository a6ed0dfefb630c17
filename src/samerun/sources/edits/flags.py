"""The edits that set a flag: where the script sets it otherwise, or else after its imports."""

from __future__ import annotations

import ast

from samerun.editing.edit import Edit, Opening
from samerun.editing.edit_builders import replace_arguments, replace_node
from samerun.editing.source_file import File
from samerun.editing.user_program import Code


def call_function(code: Code, function: str, arguments: str) -> list[Edit]:
    """`function(arguments)`: in the calls of it that the code has, else after the imports of the script."""
    edits: list[Edit] = []
    for file in code.files:
        for call in file.every(ast.Call):
            if file.called(call) == function:
                given = [*call.args, *call.keywords]
                if ", ".join(ast.unparse(item) for item in given) != arguments:
                    edits.append(replace_arguments(file, call, arguments))
    return edits or [Opening(function, f"({arguments})")]


def assign_flag(code: Code, flag: str, value: str) -> list[Edit]:
    """`flag = value`: in the assignments to it that the code has, else after the imports of the script."""
    edits: list[Edit] = []
    for file in code.files:
        for item in file.every(ast.Assign):
            if any(_is(file, target, flag) for target in item.targets) and file.said(item.value) != value:
                edits.append(replace_node(file, item.value, value))
    return edits or [Opening(flag, f" = {value}")]


def assign_where_unset(code: Code, flag: str, value: str) -> list[Edit]:
    """`flag = value` after the imports of the script, where the code does not set it to anything itself."""
    for file in code.files:
        for item in file.every(ast.Assign):
            if any(_is(file, target, flag) for target in item.targets):
                return []
    return [Opening(flag, f" = {value}")]


def _is(file: File, target: ast.expr, flag: str) -> bool:
    return isinstance(target, ast.Attribute) and file.dotted(target) == flag
