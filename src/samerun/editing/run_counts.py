"""How often a line runs in one process, as far as the code says."""

from __future__ import annotations

import ast
import contextlib

from samerun.editing.edit import NoEdit
from samerun.editing.index import index
from samerun.editing.names import is_main_guard
from samerun.editing.source_file import File, get_last_name
from samerun.editing.user_program import Code

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.Lambda, *_COMPREHENSIONS)
_DEEPEST = 6  # functions that call each other


def runs_once(code: Code, file: File, node: ast.AST, depth: int = _DEEPEST) -> bool:
    """Whether a line runs once in each run of the program, with any arguments, and in no other program.

    It is in no loop, and its functions are those of a script, called at one place each, which runs once too.
    Functions of a file that is no script are there for others.
    """
    inner = node
    for outer in file.around(node):
        before, inner = inner, outer
        if isinstance(outer, _LOOPS):
            return False
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)) and before in outer.body:
            made = file.owner(outer) if outer.name == "__init__" else None
            name = outer.name if made is None else made.name
            return depth > 0 and _is_script(code, file) and _is_called_once(name, code, depth, made)
    return True


def _is_script(code: Code, file: File) -> bool:
    """Whether a file was started, or has a main guard: a step that prepares the data is one, too."""
    if any(map(is_main_guard, file.tree.body)):
        return True
    with contextlib.suppress(NoEdit):
        return code.main is file
    return True  # a program that starts another one: any of its files may be that


def _is_called_once(name: str, code: Code, depth: int, made: ast.ClassDef | None) -> bool:
    """Whether a function is called at one place, and named nowhere else; or a class is, or at none."""
    calls = [(file, call) for file in code.files for call in index(file).calls[name]]
    named = [
        node
        for file in code.files
        for node in file.every(ast.Name, ast.Attribute)
        if get_last_name(node) == name
    ]
    if made is not None and not named:
        return True
    return len(calls) == len(named) == 1 and runs_once(code, *calls[0], depth - 1)


def is_run_once(code: Code, file: File, node: ast.AST) -> bool:
    """Whether it runs once in this program as it is: in no loop, and in no function but one called once.

    Less than `runs_once` asks: another program may do otherwise with its functions.
    """
    loops = (ast.For, ast.AsyncFor, ast.While, ast.Lambda, ast.comprehension, ast.ClassDef)
    if any(isinstance(around, loops) for around in file.around(node)):
        return False
    function = file.function(node)
    if function is None:
        return True
    uses = [
        (other, use)
        for other in code.files
        for use in other.every(ast.Name, ast.Attribute)
        if get_last_name(use) == function.name and not _is_of_other_program(code, other, use)
    ]
    if len(uses) != 1:
        return False
    other, use = uses[0]
    call = other.parent(use)
    called = isinstance(call, ast.Call) and call.func is use
    inside = other is file and function in other.around(use)
    return called and not inside and is_run_once(code, other, use)


def is_repeated(code: Code, file: File, node: ast.AST, depth: int = _DEEPEST) -> bool:
    """Whether a line is in a loop, or in a function that is called in one, as far as the code says.

    Nobody calls `__exit__` and the like by name: what is in such a method may be.
    """
    inner = node
    for outer in file.around(node):
        before, inner = inner, outer
        goes_through = isinstance(outer, (ast.For, ast.AsyncFor)) and before is outer.iter
        if isinstance(outer, _LOOPS) and not goes_through:
            return True
    function = file.function(node)
    if function is None or depth == 0:
        return False
    owner = file.owner(function)
    special = owner is not None and function.name.startswith("__")
    name = owner.name if owner is not None and special else function.name
    uses = [
        (other, use)
        for other in code.files
        for use in other.every(ast.Name, ast.Attribute)
        if get_last_name(use) == name and function not in other.around(use)
    ]
    if special and function.name != "__init__":
        return bool(uses)
    return any(is_repeated(code, other, use, depth - 1) for other, use in uses)


def _is_of_other_program(code: Code, file: File, node: ast.AST) -> bool:
    """Whether it is under the main guard of a file that was imported: it ran in no process of this one."""
    if not any(isinstance(around, ast.stmt) and is_main_guard(around) for around in file.around(node)):
        return False
    with contextlib.suppress(NoEdit):
        return code.main is not file
    return False  # a program that starts another one: any of its files may be that
