"""How a name of a library is written in a file: as it is imported there, or with the import that it needs."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from samerun.editing.names import collect_bound, walk_imports
from samerun.editing.source_file import File

_USUAL = {"numpy": "np"}  # the names that everybody imports them by


def write_name(file: File, name: str, at: ast.AST) -> tuple[str, tuple[str, ...]]:
    """(a dotted name as code that stands at `at` must write it, the import that must be added for it)."""
    return spell_name(file, name, find_bindings(file, at))


def write_rank(file: File, there: Mapping[str, str], variable: str) -> tuple[str, tuple[str, ...]]:
    """(the number in this variable as code, 0 where it is not set; the import that must be added for it)."""
    get, missing = spell_name(file, "os.environ.get", there)
    return f'int({get}("{variable}", 0))', missing


def find_bindings(file: File, at: ast.AST) -> dict[str, str]:
    """What imports bind where `at` is evaluated: the module's, and those before it in its functions."""
    found: dict[str, str] = {}
    in_function = file.function(at) is not None
    line = getattr(at, "lineno", 0)
    for node in walk_imports(file.tree.body):
        if in_function or node.lineno < line:
            found.update(collect_bound([node]))
    for around in file.around(at):
        if isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inside = (node for node in ast.walk(around) if isinstance(node, (ast.Import, ast.ImportFrom)))
            found.update(collect_bound(node for node in inside if node.lineno < line))
            hidden = {item.arg for item in ast.walk(around.args) if isinstance(item, ast.arg)}
            found = {name: module for name, module in found.items() if name not in hidden}
    return found


def spell_name(file: File, name: str, there: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """As `write_name`, where `there` are the names that are imported."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        module, rest = ".".join(parts[:length]), parts[length:]
        for local, known in there.items():
            if known == module:
                return ".".join([local, *rest]), ()
    module, rest = parts[0], parts[1:]
    local = _free(file, _USUAL.get(module, module), module)
    line = f"import {module}" if local == module else f"import {module} as {local}"
    return ".".join([local, *rest]), (line,)


def _free(file: File, name: str, module: str) -> str:
    """The name, or another one where the file uses it for something else."""
    names = file.names
    # What nothing else binds is from there: `from random import *; random()`.
    starred = {node.id for node in file.every(ast.Name)} if "*" in names.imported else set()
    for choice in (name, module, f"{module}_", f"the_{module}"):
        known = names.imported.get(choice)
        if known == module or (known is None and choice not in names.assigned and choice not in starred):
            return choice
    return f"samerun_{module}"
