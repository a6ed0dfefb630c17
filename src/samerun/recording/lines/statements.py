"""What each statement of a file reads, writes and calls, by its text."""

from __future__ import annotations

import ast
from typing import NamedTuple

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_INNER = (ast.stmt, ast.ExceptHandler, ast.match_case)


class Call(NamedTuple):
    """One call: what is called, as it is written (`self.rng.random`; `.stat` of what has no name)."""

    name: str
    line: int


class Statement(NamedTuple):
    """A simple statement, or the head of one that holds others; names are dotted: `args.seed`."""

    line: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    calls: tuple[Call, ...]
    loops: tuple[str, ...]  # what it goes through


def find_statements(source: str) -> dict[int, Statement]:
    """The innermost statement at each line; {} where the text cannot be parsed."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[int, Statement] = {}
    for node in ast.walk(tree):  # outer ones first: those inside take their lines
        if isinstance(node, (ast.stmt, ast.ExceptHandler)):
            statement = _Head(node).describe(node.lineno)
            found.update(dict.fromkeys(range(node.lineno, _find_last_line(node) + 1), statement))
    return found


def _find_last_line(node: ast.stmt | ast.ExceptHandler) -> int:
    body = getattr(node, "body", None)
    last = node.end_lineno or node.lineno
    return max(node.lineno, min(last, body[0].lineno - 1)) if isinstance(body, list) and body else last


class _Head(ast.NodeVisitor):
    """The expressions of one statement, without the statements in it and what its lambdas do later."""

    def __init__(self, node: ast.AST) -> None:
        self._reads: dict[str, None] = {}
        self._writes: dict[str, None] = {}
        self._calls: list[Call] = []
        self._loops: dict[str, None] = {}
        if isinstance(node, _FUNCTIONS):
            self._writes[node.name] = None
        if isinstance(node, ast.AugAssign):
            self._add(self._reads, node.target)
        if isinstance(node, (ast.For, ast.AsyncFor)):
            self._add(self._loops, node.iter)
        self.generic_visit(node)

    def describe(self, line: int) -> Statement:
        """What was found."""
        return Statement(
            line, tuple(self._reads), tuple(self._writes), tuple(self._calls), tuple(self._loops)
        )

    def visit(self, node: ast.AST) -> None:
        if not isinstance(node, (*_INNER, ast.Lambda)):
            super().visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self._add(self._reads if isinstance(node.ctx, ast.Load) else self._writes, node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._add_written(node)
        elif not self._add(self._reads, node):
            self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._add_written(node.value)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        name = _write_dotted(function)
        line = function.end_lineno or node.lineno
        if name is not None:
            self._calls.append(Call(name, line))
            self._add(self._reads, function)  # a model that is called is read
        if isinstance(function, ast.Attribute):
            if name is None:
                self._calls.append(Call(f".{function.attr}", line))
            self.visit(function.value)  # its object: a generator, a model
        elif name is None:
            self.visit(function)
        for argument in (*node.args, *node.keywords):
            self.visit(argument)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._add(self._loops, node.iter)
        self.generic_visit(node)

    def visit_Set(self, node: ast.Set) -> None:
        self._calls.append(Call("set", node.lineno))
        self.generic_visit(node)

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self._calls.append(Call("set", node.lineno))
        self.generic_visit(node)

    @staticmethod
    def _add(names: dict[str, None], node: ast.AST) -> bool:
        name = _write_dotted(node)
        if name is not None:
            names[name] = None
        return name is not None

    def _add_written(self, node: ast.AST) -> None:
        """What is written to, and what holds it: `self.size` changes `self`."""
        name = _write_dotted(node)
        while name:
            self._writes[name] = None
            name = name.rpartition(".")[0]


def _write_dotted(node: ast.AST) -> str | None:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join((node.id, *reversed(names))) if isinstance(node, ast.Name) else None
