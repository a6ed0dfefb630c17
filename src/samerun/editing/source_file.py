"""One file of the user's code: its text, its tree, and where in the text each node of the tree stands."""

from __future__ import annotations

import ast
import bisect
import builtins
import io
import re
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from samerun.editing.edit import NoEdit
from samerun.editing.names import Names, collect_names
from samerun.runs import untrusted
from samerun.runs.source_lines import MOST_BYTES

_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_Node = TypeVar("_Node", bound=ast.AST)
Function = ast.FunctionDef | ast.AsyncFunctionDef
_BLOCKS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Module)


@dataclass(frozen=True, eq=False)
class File:
    """A file as it is now; `path` is relative to the working directory."""

    path: str
    text: str  # its line ends, and its byte order mark, as they are
    encoding: str

    @classmethod
    def read(cls, folder: Path, path: str) -> File:
        """The file folder/path, decoded as Python does (PEP 263). Raises NoEdit."""
        try:
            data = untrusted.read_bytes(folder / path, MOST_BYTES, follow=True)
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            encoding = "utf-8" if encoding == "utf-8-sig" else encoding
            return cls(path, data.decode(encoding), encoding)
        except (OSError, SyntaxError, UnicodeDecodeError, LookupError) as error:
            said = error.strerror if isinstance(error, OSError) else error
            raise NoEdit(f"{path} cannot be read ({said})") from None

    @property
    def raw(self) -> str:
        """The text as it is on disk."""
        return self.text

    def rebuild(self, text: str) -> str:
        """The text on disk that makes `text` of it, an edited form of its own."""
        return text

    def site(self, line: int) -> str:
        """The call site of a line (from 1) of the text."""
        return f"{self.path}:{line}"

    def line_at(self, path: str, line: int) -> int:
        """The line of the text that a call site, `path:line`, names."""
        return line

    @cached_property
    def tree(self) -> ast.Module:
        """The file parsed. Raises NoEdit when this Python cannot."""
        tree = parse_python(self.text)
        if tree is None:
            raise NoEdit(f"{self.path} cannot be parsed by the Python that runs samerun")
        return tree

    @cached_property
    def names(self) -> Names:
        """What its names stand for."""
        return collect_names(self.tree)

    @property
    def newline(self) -> str:
        """How its lines end."""
        found = _LINE_ENDS.search(self.text)
        return found[0] if found else "\n"

    # --- from the tree to the text -------------------------------------------------------------------

    def span(self, node: ast.AST) -> tuple[int, int]:
        """The characters of a node: from the first up to and without the last.

        Raises NoEdit where Python does not say (in an f-string, before Python 3.12).
        """
        located = node if hasattr(node, "lineno") else None
        if located is None or (_is_in_string(self, node) and not self._is_exact(node)):
            raise NoEdit(f"{self.path}: the place is inside a string")
        return self._ends(node)

    def said(self, node: ast.AST) -> str:
        """The text of a node."""
        start, end = self._ends(node)
        return self.text[start:end]

    def offset_of_line(self, line: int) -> int:
        """Where a line (from 1) begins; the end of the text for one past the last."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self.text)

    def line_of(self, offset: int) -> int:
        """The line (from 1) of a character."""
        return bisect.bisect_right(self._starts, offset)

    def indent(self, node: ast.stmt) -> str:
        """What stands before a statement on its line."""
        start = self.offset_of_line(node.lineno)
        return re.match(r"[ \t\f]*", self.text[start:])[0]  # type: ignore[index]

    def reach(self, node: ast.AST) -> tuple[int, int]:
        """The first and last line of the statement around a node: of a loop with its body."""
        statement = self.statement(node)
        whole = isinstance(statement, (ast.For, ast.AsyncFor)) or not hasattr(statement, "body")
        return statement.lineno, (statement.end_lineno if whole else None) or statement.lineno

    def stands_alone(self, node: ast.stmt) -> bool:
        """Whether a statement shares its lines with no other."""
        start, end = self._ends(node)
        before = self.text[self.offset_of_line(node.lineno) : start]
        after = self.text[end : self.offset_of_line((node.end_lineno or node.lineno) + 1)]
        return not before.strip("\ufeff \t\f") and not after.split("#")[0].strip()

    def _ends(self, node: ast.AST) -> tuple[int, int]:
        start = self._offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        end = self._offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return start, end

    def _offset(self, line: int, column: int) -> int:
        """Of a column in bytes of UTF-8, as the tree has it."""
        start = self._starts[line - 1] + (1 if line == 1 and self.text.startswith("\ufeff") else 0)
        text = self.text[start : start + column]
        if text.isascii():
            return start + column
        return start + len(
            self.text[start:].encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore")
        )

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0, *(found.end() for found in _LINE_ENDS.finditer(self.text))]
        if len(starts) > 1 and starts[-1] == len(self.text):
            starts.pop()
        return starts

    def _is_exact(self, node: ast.AST) -> bool:
        try:
            again = ast.parse(self.said(node), mode="eval").body
        except (SyntaxError, ValueError, IndexError):
            return False
        return ast.dump(again) == ast.dump(node)

    # --- in the tree ---------------------------------------------------------------------------------

    def every(self, *kinds: type[_Node]) -> Iterator[_Node]:
        """The nodes of these kinds, in the order of the text."""
        for node in self._nodes:
            if isinstance(node, kinds):
                yield node

    def functions(self) -> Iterator[Function]:
        """Every function, in the order of the text."""
        for node in self._nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node

    def expressions(self, line: int) -> list[ast.expr]:
        """Every expression of the statements (of a block: of its first line) that reach over this line."""
        tops = [
            node
            for node in self._nodes
            if isinstance(node, ast.expr)
            and not isinstance(self.parent(node), ast.expr)
            and node.lineno <= line <= (node.end_lineno or node.lineno)
        ]
        statements = {id(self.statement(node)): self.statement(node) for node in tops}
        found: dict[int, ast.expr] = {}
        for statement in statements.values():
            for node in own(statement):
                found[id(node)] = node
        return sorted(found.values(), key=lambda node: (node.lineno, node.col_offset))

    def calls(self, line: int) -> list[ast.Call]:
        """The calls among `expressions`."""
        return [node for node in self.expressions(line) if isinstance(node, ast.Call)]

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node around it."""
        return self._parents.get(node)

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around it, from the inside out."""
        parent = self._parents.get(node)
        while parent is not None:
            yield parent
            parent = self._parents.get(parent)

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement that a node is, or is in."""
        if isinstance(node, ast.stmt):
            return node
        return next(item for item in self.around(node) if isinstance(item, ast.stmt))

    def scope(self, node: ast.AST) -> ast.AST:
        """The function, lambda, class or module in whose body a node is evaluated."""
        return next((item for item in self.around(node) if isinstance(item, _BLOCKS)), self.tree)

    def function(self, node: ast.AST) -> Function | None:
        """The function around it, if it is in one."""
        return next(
            (item for item in self.around(node) if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))),
            None,
        )

    def owner(self, node: ast.AST) -> ast.ClassDef | None:
        """The class around it, if it is in one."""
        return next((item for item in self.around(node) if isinstance(item, ast.ClassDef)), None)

    def dotted(self, node: ast.AST | None) -> str:
        """What a name or attribute stands for, such as "numpy.random.seed"; "" when that is not known."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        known = self.names.imported.get(node.id)
        if known is None:
            if parts or node.id in self.names.assigned or not hasattr(builtins, node.id):
                return ""
            return node.id
        return ".".join([known, *reversed(parts)])

    def called(self, node: ast.AST | None) -> str:
        """What a call calls, as `dotted` says it."""
        return self.dotted(node.func) if isinstance(node, ast.Call) else ""

    @cached_property
    def _nodes(self) -> list[ast.AST]:
        return list(_walk_in_order(self.tree))

    @cached_property
    def _parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}


def parse_python(text: str) -> ast.Module | None:
    """The tree of a text, None when it is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.removeprefix("\ufeff"))
            compile(tree, "script", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree


def own(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement without those of the statements in its body."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.expr):
            yield node
        waiting += [
            child
            for child in ast.iter_child_nodes(node)
            if not isinstance(child, (ast.stmt, ast.ExceptHandler))
        ]


def get_last_name(node: ast.AST | None) -> str:
    """The last part of what is called or named: "seed" of `self.rng.seed(3)`."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _walk_in_order(node: ast.AST) -> Iterator[ast.AST]:
    waiting = [node]
    while waiting:
        item = waiting.pop()
        yield item
        waiting += reversed(list(ast.iter_child_nodes(item)))


def _is_in_string(file: File, node: ast.AST) -> bool:
    return any(isinstance(item, ast.JoinedStr) for item in file.around(node))
