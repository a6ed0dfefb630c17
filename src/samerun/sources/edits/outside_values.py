"""What a program is given from outside: its command line, its environment."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from samerun.editing.data_flow import Place, find_behind, find_given
from samerun.editing.edit import Change, Edit
from samerun.editing.source_file import File, get_last_name
from samerun.editing.user_program import Code
from samerun.runs import untrusted
from samerun.runs.difference import Difference
from samerun.runs.source_lines import parse_site
from samerun.sources.evidence import rows

_CONSTANT = re.compile(r"(?:\s*[\w.]+\.(?:reset\(seed=|seed\())?(?P<seed>0)\)?\n?")
_SEEDING = frozenset({"seed", "default_rng", "RandomState", "Random", "SeedSequence"})
_MOST_BYTES = 256 << 10  # of a file of settings


def reads_arguments(file: File, node: ast.expr) -> bool:
    """Reads the command line."""
    if isinstance(node, ast.Call):
        return get_last_name(node) in ("parse_args", "parse_known_args")
    return isinstance(node, (ast.Name, ast.Attribute)) and file.dotted(node) == "sys.argv"


def reads_environment(file: File, node: ast.expr, but: Collection[str] = ()) -> bool:
    """Reads an environment variable, other than these."""
    name = _get_variable(file, node)
    return name is not None and not (isinstance(name, ast.Constant) and name.value in but)


def list_variables(code: Code, site: str) -> list[str]:
    """The names of the environment variables that a line reads."""
    file, found = code.expressions(site)
    names = (
        _get_variable(file, part) for node in found for part in ast.walk(node) if isinstance(part, ast.expr)
    )
    return [str(name.value) for name in names if isinstance(name, ast.Constant)]


def list_named(file: File) -> set[str]:
    """The names of the environment variables that a file reads."""
    names = (_get_variable(file, node) for node in file.every(ast.Subscript, ast.Call))
    return {name.value for name in names if isinstance(name, ast.Constant) and isinstance(name.value, str)}


def find_name(difference: Difference, name: str) -> str | None:
    """The first line of the user's code, or else of a file that it read, which names a variable."""
    for file in _list_files(difference):
        for node in file.every(ast.Constant):
            if node.value == name:
                return file.site(node.lineno)
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    folder = str(difference.a.manifest.get("cwd") or "")
    for path in dict.fromkeys(row.detail for row in difference.a.rows("opened") if row.detail):
        try:
            text = untrusted.read_text(Path(folder, path), _MOST_BYTES, errors="replace")
        except OSError:
            continue
        found = word.search(text)
        if found is not None:
            return f"{path}:{text.count(chr(10), 0, found.start()) + 1}"
    return None


def _list_files(difference: Difference) -> Iterator[File]:
    """The user's code that ran, and that of programs beside the training, as far as their rows name it."""
    of_helpers = (parse_site(row.call_site) for row in difference.a.evidence if rows.is_in_helper(row))
    beside = dict.fromkeys(at[0] for at in of_helpers if at is not None)
    for files in (None, beside):
        code = rows.read_code(difference.a, files)
        yield from code.files if code is not None else ()


def _get_variable(file: File, node: ast.expr) -> ast.expr | None:
    """What names the variable, where this reads one."""
    if isinstance(node, ast.Subscript) and file.dotted(node.value) == "os.environ":
        return node.slice
    if isinstance(node, ast.Call) and file.called(node) in ("os.getenv", "os.environ.get"):
        return node.args[0] if node.args else None
    return None


def is_given_from_outside(code: Code, file: File, found: ast.expr) -> bool:
    """Whether a seed is an argument or a variable of the environment, and nothing replaces that."""

    def comes(place: Place) -> bool:
        return bool(find_behind(code, place, lambda *at: reads_arguments(*at) or reads_environment(*at)))

    return comes((file, found)) and all(
        isinstance(value[1], ast.Constant) or comes(value)
        for node in ast.walk(found)
        if isinstance(node, ast.Attribute)
        for value in find_given(code, (file, node))
    )


def keep_given_seed(edits: Sequence[Edit], code: Code) -> list[Edit]:
    """The edits, with the seed that the program is given in the place of a constant, where it is at hand.

    So where the script seeds torch with it in the same block: runs with other seeds then differ in all of it.
    """
    return [_write_given(edit, code) if isinstance(edit, Change) else edit for edit in edits]


def _write_given(edit: Change, code: Code) -> Change:
    constant = _CONSTANT.fullmatch(edit.text)
    if constant is None:
        return edit
    file = code.file(edit.path)
    if constant.group() == "0" and not _is_seed(file, edit):
        return edit
    given = _find_given_seed(code, file, file.line_of(edit.start))
    if given is None:
        return edit
    start, end = constant.span("seed")
    return replace(edit, text=f"{edit.text[:start]}{given}{edit.text[end:]}", given=given)


def _is_seed(file: File, edit: Change) -> bool:
    """Whether the change gives a call that seeds a generator its one argument."""
    for call in file.every(ast.Call):
        if get_last_name(call) in _SEEDING and not call.keywords and len(call.args) < 2:
            end = file.span(call)[1] - 1
            if (edit.start, edit.end) == (file.span(call.args[0]) if call.args else (end, end)):
                return True
    return False


def _find_given_seed(code: Code, file: File, line: int) -> str | None:
    """What the block of a line seeds torch with, if it comes from outside and is there by then."""
    for call in file.every(ast.Call):
        if file.called(call) != "torch.manual_seed" or len(call.args) != 1:
            continue
        statement = file.parent(call)
        block = None if statement is None else file.parent(statement)
        root = seed = call.args[0]
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or not isinstance(block, (ast.Module, ast.FunctionDef)):
            continue
        at = (node for node in block.body if node.lineno <= line <= (node.end_lineno or line))
        within = any(not isinstance(node, (ast.FunctionDef, ast.ClassDef)) for node in at)
        if within and _is_bound_before(root.id, block, line) and is_given_from_outside(code, file, seed):
            return file.said(seed)
    return None


def _is_bound_before(name: str, block: ast.Module | ast.FunctionDef, line: int) -> bool:
    """Whether a name has one value in a block, and has it by that line."""
    made = [node for node in ast.walk(block) if isinstance(node, ast.Name) and node.id == name]
    stored = [node for node in made if not isinstance(node.ctx, ast.Load)]
    if isinstance(block, ast.FunctionDef) and any(
        isinstance(item, ast.arg) and item.arg == name for item in ast.walk(block.args)
    ):
        return not stored
    return len(stored) == 1 and stored[0].lineno < line
