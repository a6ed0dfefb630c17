"""The edits that sources make most: an expression replaced, put into a call, given an argument."""

from __future__ import annotations

import ast

from samerun.editing.edit import Change, NoEdit, Wrap
from samerun.editing.import_names import write_name
from samerun.editing.source_file import File


def replace_node(file: File, node: ast.AST, text: str, imports: tuple[str, ...] = ()) -> Change:
    """The text of a node becomes another one. Raises NoEdit where its place is not known."""
    start, end = file.span(node)
    return Change(file.path, start, end, text, imports)


def put_into(
    file: File, node: ast.expr, function: str, more: str = "", imports: tuple[str, ...] = ()
) -> Wrap:
    """`node` becomes `function(node)`, or `function(node, more)`."""
    start, end = file.span(node)
    bare = isinstance(node, ast.GeneratorExp) and _is_only_argument(file, node)
    if bare:  # f(x for x in y): the brackets are those of the call
        start, end = start + 1, end - 1
    inner = ("(", ")") if bare and more else ("", "")
    tail = f", {more})" if more else ")"
    return Wrap(file.path, start, end, f"{function}({inner[0]}", f"{inner[1]}{tail}", imports)


def rename_call(file: File, call: ast.Call, name: str) -> Change:
    """The last part of what is called becomes another name: `x.empty(3)` → `x.zeros(3)`."""
    start, end = file.span(call.func)
    if isinstance(call.func, ast.Attribute):
        start = end - len(call.func.attr)
        if file.text[start:end] != call.func.attr:
            raise NoEdit(f"{file.path}: the name {call.func.attr} is not where it is looked for")
    return Change(file.path, start, end, name)


def call_instead(file: File, call: ast.Call, name: str) -> Change:
    """What is called becomes something of a library, by its whole name."""
    text, missing = write_name(file, name, call)
    return replace_node(file, call.func, text, missing)


def replace_arguments(file: File, call: ast.Call, text: str, imports: tuple[str, ...] = ()) -> Change:
    """The arguments of a call become others."""
    _, after = file.span(call.func)
    _, end = file.span(call)
    opening = file.text.index("(", after, end)
    return Change(file.path, opening + 1, end - 1, text, imports)


def insert_first(file: File, call: ast.Call, text: str) -> Change:
    """A call gets one more argument, before those that it has."""
    _, after = file.span(call.func)
    _, end = file.span(call)
    opening = file.text.index("(", after, end)
    more = ", " if call.args or call.keywords else ""
    return Change(file.path, opening + 1, opening + 1, f"{text}{more}")


def set_keyword(file: File, call: ast.Call, name: str, text: str, imports: tuple[str, ...] = ()) -> Change:
    """A call gets `name=text`, in the place of what it gave for that name so far."""
    for item in call.keywords:
        if item.arg == name:
            return replace_node(file, item.value, text, imports)
    given = [*call.args, *call.keywords]
    if not given:
        return replace_arguments(file, call, f"{name}={text}", imports)
    end = max(file.span(item)[1] for item in given)
    if len(given) == 1 and isinstance(given[0], ast.GeneratorExp):
        raise NoEdit(f"{file.path}: no argument can be added beside a generator expression")
    return Change(file.path, end, end, f", {name}={text}", imports)


def insert_before(file: File, statement: ast.stmt, line: str) -> Change:
    """One more line before a statement, with its indentation. Raises NoEdit when it shares its line."""
    start, _ = file.span(statement)
    at = file.offset_of_line(statement.lineno)
    if file.text[at:start].strip():
        raise NoEdit(f"{file.path}:{statement.lineno} holds more than one statement")
    return Change(file.path, at, at, f"{file.indent(statement)}{line}\n")


def insert_after(file: File, statement: ast.stmt, line: str) -> Change:
    """One more line after a statement, with its indentation. Raises NoEdit when it shares its line."""
    if not file.stands_alone(statement):
        raise NoEdit(f"{file.path}:{statement.lineno} holds more than one statement")
    end = file.offset_of_line((statement.end_lineno or statement.lineno) + 1)
    text = f"{file.indent(statement)}{line}"
    unended = end == len(file.text) and not file.text.endswith(("\n", "\r"))
    return Change(file.path, end, end, f"\n{text}" if unended else f"{text}\n")


def remove_statement(file: File, statement: ast.stmt) -> Change:
    """A statement taken out, or `pass` in its place where nothing else is in its block."""
    parent = file.parent(statement)
    blocks = [getattr(parent, name, None) or [] for name in ("body", "orelse", "finalbody")]
    alone = any(block == [statement] for block in blocks)
    if alone or not file.stands_alone(statement):
        return replace_node(file, statement, "pass")
    start = file.offset_of_line(statement.lineno)
    return Change(file.path, start, file.offset_of_line((statement.end_lineno or statement.lineno) + 1), "")


def _is_only_argument(file: File, node: ast.GeneratorExp) -> bool:
    call = file.parent(node)
    if not isinstance(call, ast.Call) or call.args != [node] or call.keywords:
        return False
    start, _ = file.span(node)
    _, after_name = file.span(call.func)
    return file.text[after_name:start].strip() == ""
