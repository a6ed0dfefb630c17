"""A notebook as one text of Python, cell after cell, and an edited text put back into its cells.

Each line of a cell is one line of the text, so that lines are found in both directions. What only IPython
understands (`%matplotlib inline`, `!pip install`, a cell of `%%bash`) is a comment in the text.
"""

from __future__ import annotations

import ast
import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samerun.editing.edit import NoEdit
from samerun.editing.source_file import File, parse_python
from samerun.runs import notebook, untrusted
from samerun.runs.notebook import Cell

_SEPARATOR = "# In [{}]:"
_MAGIC = re.compile(r"(?P<indent>\s*)(?P<name>[\w.,\s]+=\s*)?(?:[%!?]|\w[\w.]*\?\??\s*$)")
_PYTHON_MAGIC = re.compile(r"%%(?:time|timeit|capture|prun|samerun)\b")
# How notebooks are written by Jupyter, by Colab, by Kaggle and by others.
_FORMS: tuple[dict[str, Any], ...] = tuple(
    {"indent": indent, "separators": separators, "ensure_ascii": ascii_only}
    for indent in (1, 2, 0, 4, "\t", None)
    for separators in ((",", ": "), (", ", ": "), (",", ":"))
    for ascii_only in (False, True)
)


@dataclass(frozen=True, eq=False)
class NotebookFile(File):
    """`text` is the code of all cells."""

    saved: str
    cells: tuple[Cell, ...]

    @classmethod
    def read(cls, folder: Path, path: str) -> NotebookFile:
        """The notebook folder/path. Raises NoEdit."""
        try:
            raw = untrusted.read_text(folder / path, notebook.MOST_BYTES, follow=True)
        except (OSError, ValueError) as error:
            said = error.strerror if isinstance(error, OSError) else error
            raise NoEdit(f"{path} cannot be read ({said})") from None
        return cls.parse(path, raw)

    @property
    def raw(self) -> str:
        """The text as it is on disk."""
        return self.saved

    @classmethod
    def parse(cls, path: str, raw: str) -> NotebookFile:
        """A notebook as it is on disk. Raises NoEdit."""
        try:
            cells = tuple(notebook.list_cells(untrusted.parse_json(raw)))
        except ValueError as error:
            raise NoEdit(f"{path} cannot be read ({error})") from None
        lines = [line for cell in cells for line in _write_cell(cell)]
        return cls(path, "".join(f"{line}\n" for line in lines), "utf-8", raw, cells)

    def site(self, line: int) -> str:
        """The call site of a line of the text: `train.ipynb[3]:2`."""
        for cell, first, after in self._places():
            if line < after:
                return f"{notebook.name_cell(self.path, cell.number)}:{max(line - first + 1, 1)}"
        return f"{self.path}:{line}"

    def line_at(self, path: str, line: int) -> int:
        """The line of the text that a call site names. Raises NoEdit."""
        named = notebook.parse_cell_name(path)
        return line if named is None else self._find_line(named[1], line)

    def _find_line(self, number: int, line: int) -> int:
        for cell, first, after in self._places():
            if cell.number == number and first <= first + line - 1 < after:
                return first + line - 1
        raise NoEdit(f"{self.path} has no line {line} in its cell [{number}]")

    def rebuild(self, text: str) -> str:
        """The notebook's file with its cells as in `text`, an edited form of the text."""
        content = untrusted.parse_json(self.saved)
        form = _find_form(self.saved, content)
        new = self._split(text)
        for cell in self.cells:
            if new[cell.number] != cell.source:
                own = content["cells"][cell.index]
                lines = new[cell.number].splitlines(keepends=True)
                own["source"] = lines if isinstance(own["source"], list) else new[cell.number]
        return json.dumps(content, **form) + ("\n" if self.saved.endswith("\n") else "")

    def list_shown(self) -> Iterator[tuple[Cell, ast.expr]]:
        """The cells that end with an expression, whose value a notebook shows."""
        last: dict[int, ast.stmt] = {statement.lineno: statement for statement in self.tree.body}
        for cell, first, after in self._places():
            (*_, line) = [0, *(line for line in last if first <= line < after)]
            statement = last.get(line)
            if isinstance(statement, ast.Expr) and not cell.source.rstrip().endswith(";"):
                yield cell, statement.value

    def _places(self) -> Iterator[tuple[Cell, int, int]]:
        """Each cell, its first line in the text (from 1), and that of what follows."""
        at = 1
        for cell in self.cells:
            first, at = at + 1, at + 1 + len(cell.source.splitlines())
            yield cell, first, at

    def _split(self, text: str) -> dict[int, str]:
        """The new source of each cell, by its number. What only IPython understands stays as it was."""
        before, after = self.text.splitlines(), text.splitlines()
        owners = {line: cell for cell, first, end in self._places() for line in range(first - 1, end)}
        new: dict[int, list[str]] = {cell.number: [] for cell in self.cells}
        matched = difflib.SequenceMatcher(None, before, after, autojunk=False)
        for tag, begin, end, start, stop in matched.get_opcodes():
            if tag == "equal":
                for line in range(begin + 1, end + 1):
                    cell = owners[line]
                    at = line - self._find_line(cell.number, 1)
                    if at >= 0:  # not its separator
                        new[cell.number].append(cell.source.splitlines()[at])
                continue
            # Before a separator means at the end of the cell above it.
            following = owners[min(begin + 1, len(before))]
            at_separator = begin < len(before) and before[begin] == _SEPARATOR.format(following.number)
            cell = owners[begin] if at_separator and begin else following
            new[cell.number] += after[start:stop]
        return {
            cell.number: "\n".join(new[cell.number]) + ("\n" if cell.source.endswith("\n") else "")
            for cell in self.cells
        }


def _write_cell(cell: Cell) -> list[str]:
    """Its separator, and its lines as Python."""
    lines = cell.source.splitlines()
    separator = _SEPARATOR.format(cell.number)
    if lines[0].startswith("%%"):
        if not _PYTHON_MAGIC.match(lines[0]):
            return [separator, *(f"# {line}" for line in lines)]
        lines[0] = f"# {lines[0]}"
    if parse_python("\n".join(lines)) is None:
        lines = [_write_magic(line) for line in lines]
    if parse_python("\n".join(lines)) is None:
        lines = [f"# {line}" for line in lines]
    return [separator, *lines]


def _write_magic(line: str) -> str:
    found = _MAGIC.match(line)
    if found is None:
        return line
    if found["name"]:
        return f"{found['indent']}{found['name'].strip()} None  # {line.strip()}"
    return f"{found['indent']}pass  # {line.strip()}" if found["indent"] else f"# {line}"


def _find_form(raw: str, content: Any) -> dict[str, Any]:
    """How the file is written, so that what is not edited stays as it is, to the byte."""
    for form in _FORMS:
        if json.dumps(content, **form) == raw.rstrip("\n"):
            return form
    return _FORMS[0]
