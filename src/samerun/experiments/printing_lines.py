"""The line of the user's code that printed a line of output, found by the text that stands in the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from samerun.editing.data_flow import find_behind
from samerun.editing.edit import NoEdit
from samerun.editing.index import index
from samerun.editing.notebook_file import NotebookFile
from samerun.editing.source_file import File, get_last_name
from samerun.editing.user_program import Code
from samerun.sources.edits import run_dependent_calls as calls

_LOGS = frozenset(["debug", "info", "warning", "warn", "error", "critical", "exception", "log"])
_PRINTS = frozenset(["print", "pprint", "echo", "secho"])
_PAGES = frozenset(["HTML", "Markdown", "Latex"])
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_WORDS_OF_PLOTS = (
    "plot bar barh hist scatter errorbar fill_between step stem boxplot imshow title suptitle set_title text "
    "annotate legend figtext xlabel ylabel set_xlabel set_ylabel semilogx semilogy loglog"
)
_PLOTS = _WORDS_OF_PLOTS.split()
_SPEC = re.compile(r"%(?:\([^)]*\))?[-#0 +]*(?:\d+|\*)?(?:\.(?:\d+|\*))?[diouxXeEfFgGcrsa]")
_FIELD = re.compile(r"\{[^{}]*\}")
_HOLE = "(.*)"
_ESCAPED = re.compile(r"\\(.)")
_WORDS = re.compile(r"[A-Za-z_]{3,}")
_WORDS_OF_TENSORS = "tensor array device dtype float float64 int int64 nan inf torch numpy grad_fn"
_OF_TENSORS = frozenset(_WORDS_OF_TENSORS.split())
_MOST_HOLES = 24  # more make a pattern slow, and say nothing


@dataclass(frozen=True)
class PrintingLine:
    """A call that prints, as the lines that it can print."""

    site: str  # `path.py:12`
    file: File
    values: tuple[ast.expr, ...]  # what it prints
    pattern: re.Pattern[str]
    literal: int  # characters of a line that stand in the code
    holes: tuple[ast.expr | None, ...] = ()  # what stands in each group of the pattern, where it is known

    def may_print(self, line: str) -> bool:
        """Whether the file knows the words, where nothing of the line stands in the call itself."""
        return bool(self.literal) or all(
            word in self.file.text for word in _WORDS.findall(line) if word not in _OF_TENSORS
        )

    def find_value(self, line: str, at: int) -> ast.expr | None:
        """What it prints at a place of a line; None where that is not clear."""
        found = self.pattern.fullmatch(line)
        if found is None or not self._has_clear_holes(line):
            return None
        groups = [n for n in range(len(self.holes)) if found.start(n + 1) <= at < found.end(n + 1)]
        return self.holes[groups[0]] if groups else None

    def _has_clear_holes(self, line: str) -> bool:
        """Whether a word, or what the line has once, stands between any two values: they do not touch."""
        between = (_ESCAPED.sub(r"\1", text) for text in self.pattern.pattern.split(_HOLE)[1:-1])
        return all(re.search(r"[A-Za-z]{2}", text) or line.count(text) == 1 for text in between)


def names_something(line: str) -> bool:
    """Whether a line has words, but for those with which torch and NumPy print a tensor or an array."""
    return any(word not in _OF_TENSORS for word in re.findall(r"[A-Za-z_]\w+", line))


class PrintingLines:
    """Where the code prints; with `files`, where it writes a text into a file too."""

    def __init__(self, code: Code | None, *, files: bool = False) -> None:
        self._code = code
        self._lines = [
            line for file in ([] if code is None else code.files) for line in _list_printing(file, files)
        ]

    def of_files(self) -> PrintingLines:
        """The same with the lines that write into files."""
        return PrintingLines(self._code, files=True)

    def plots_what_changes(self) -> bool:
        """Whether a plot of the code has a time in it: its picture is another in each run then."""
        code = self._code
        if code is None:
            return False
        plots = [(file, call) for file in code.files for name in _PLOTS for call in index(file).calls[name]]
        values = [
            (file, value)
            for file, call in plots
            for value in (*call.args, *(item.value for item in call.keywords))
        ]
        try:
            return any(find_behind(code, place, self._reads) for place in values)
        except (NoEdit, RecursionError):
            return True

    def find(self, line: str) -> PrintingLine | None:
        """What printed this line; None where no call, or more than one, may have."""
        found = [item for item in self._lines if item.pattern.fullmatch(line) and item.may_print(line)]
        most = max((item.literal for item in found), default=0)
        best = {item.site: item for item in found if item.literal == most}
        return next(iter(best.values())) if len(best) == 1 else None

    def changes_each_run(self, line: PrintingLine, text: str = "", at: int = 0) -> bool:
        """Whether what it prints is made of a clock, a process id, a temporary name, an address.

        With the text that it printed, and a place in it: of the value there alone, where it is clear which.
        """
        assert self._code is not None
        there = line.find_value(text, at) if text else None
        values = line.values if there is None else (there,)
        try:
            return any(find_behind(self._code, (line.file, value), self._reads) for value in values)
        except (NoEdit, RecursionError):  # it cannot be told
            return True

    def key_changes_each_run(self, key: str) -> bool | None:
        """The same of what the code stores under a key; None where it stores nothing there."""
        files = [] if self._code is None else self._code.files
        values = [(file, value) for file in files for value in index(file).keys[key]]
        if self._code is None or not values:
            return None
        try:
            return any(find_behind(self._code, place, self._reads) for place in values)
        except (NoEdit, RecursionError):
            return True

    def _reads(self, file: File, node: ast.expr) -> bool:
        """Whether an expression reads the world, or is a list to which such a value was appended."""
        if _reads_what_changes(file, node):
            return True
        if self._code is None or not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            return False
        added = index(file).added.get(ast.unparse(node), [])
        return any(find_behind(self._code, (file, value), _reads_what_changes) for value in added)


def _reads_what_changes(file: File, node: ast.expr) -> bool:
    kinds = (calls.reads_clock, calls.reads_identity, calls.reads_system, calls.address)
    return any(kind(file, node) for kind in kinds)


def _list_printing(file: File, files: bool) -> Iterator[PrintingLine]:
    if isinstance(file, NotebookFile):
        yield from _list_shown(file)
    for call in file.every(ast.Call):
        is_shown = get_last_name(call) == "display" and isinstance(file, NotebookFile)
        parts = _read_displayed(call) if is_shown else _read_parts(call, files)
        if parts is None:
            continue
        for line in _split_lines(parts):
            values = tuple(part for part in line if not isinstance(part, str))
            holes = len(values)
            text = "".join(part for part in line if isinstance(part, str)).strip()
            if holes > _MOST_HOLES or not (text or holes):
                continue
            pattern = "".join(re.escape(part) if isinstance(part, str) else _HOLE for part in _strip(line))
            if get_last_name(call) in _LOGS:
                pattern = f"(?:.*\\W)?{pattern}"  # a time, a level and a name come first
            literal = len(re.sub(r"\s+", "", text))
            yield PrintingLine(
                file.site(call.lineno),
                file,
                (*call.args, *(item.value for item in call.keywords)),
                re.compile(pattern),
                literal,
                values,
            )


def _read_displayed(call: ast.Call) -> _Parts:
    """A line for each argument; of `HTML(…)` and its like, without the tags."""
    texts: list[_Parts] = []
    for item in call.args:
        is_page = isinstance(item, ast.Call) and item.args and get_last_name(item) in _PAGES
        parts = _read_text(item.args[0] if is_page and isinstance(item, ast.Call) else item)
        texts.append([_TAG.sub("", part) if is_page and isinstance(part, str) else part for part in parts])
    return _join(texts, "\n")


def _list_shown(notebook: NotebookFile) -> Iterator[PrintingLine]:
    """The last expressions of cells, of which the first line is printed after `Out[3]: `."""
    for cell, value in notebook.list_shown():
        name = f"Out[{cell.number}]:"
        pattern = re.compile(f"{re.escape(name)} {_HOLE}")
        yield PrintingLine(notebook.site(value.lineno), notebook, (value,), pattern, len(name), (value,))


_Parts = list[str | ast.expr | None]  # literal text; a value, None where it is not known which


def _read_parts(call: ast.Call, files: bool) -> _Parts | None:
    """What a call prints, None where it prints nothing that is known here."""
    name = get_last_name(call)
    options = {item.arg: item.value for item in call.keywords if item.arg}
    if name in _PRINTS:
        target = options.get("file")
        if target is not None and not files and get_last_name(target) not in ("stdout", "stderr"):
            return None
        between = options.get("sep")
        return _join(
            [_read_text(item) for item in call.args], " " if between is None else _read_text(between)
        )
    if not isinstance(call.func, ast.Attribute) or not call.args:
        return None
    if name in _LOGS:
        first = call.args[1] if name == "log" and len(call.args) > 1 else call.args[0]
        values = call.args[call.args.index(first) + 1 :]
        if values and isinstance(first, ast.Constant):
            return _fill(first.value, _SPEC, values)
        return _read_text(first)
    if files and name in ("write", "write_text"):
        return _read_text(call.args[0])
    if name == "write" and ast.unparse(call.func.value) in ("sys.stdout", "sys.stderr", "stdout", "tqdm"):
        return _read_text(call.args[0])
    return None


def _join(texts: Sequence[_Parts], between: _Parts | str) -> _Parts:
    joined: _Parts = []
    for number, text in enumerate(texts):
        if number:
            joined += [between] if isinstance(between, str) else between
        joined += text
    return joined


def _read_text(node: ast.expr) -> _Parts:
    """The text of an expression, as far as it stands in the code."""
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    if isinstance(node, ast.JoinedStr):
        return [part for value in node.values for part in _read_text(value)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_read_text(node.left), *_read_text(node.right)]
    if isinstance(node, ast.FormattedValue):
        return [node.value]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant):
        values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
        return _fill(node.left.value, _SPEC, values)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        text = node.func.value
        if not isinstance(text, ast.Constant):
            return [None]
        in_order = not re.search(r"\{[^}:!]", str(text.value))
        return _fill(text.value, _FIELD, node.args if in_order else ())
    return [node]


def _fill(text: object, hole: re.Pattern[str], values: Sequence[ast.expr]) -> _Parts:
    """A format with a value in the place of each of its fields."""
    if not isinstance(text, str):
        return [None]
    pieces = hole.split(text)
    is_known = len(values) == len(pieces) - 1 and not any(isinstance(item, ast.Starred) for item in values)
    parts: _Parts = [pieces[0]]
    for number, piece in enumerate(pieces[1:]):
        parts += [values[number] if is_known else None, piece]
    return parts


def _split_lines(parts: _Parts) -> list[_Parts]:
    lines: list[_Parts] = [[]]
    for part in parts:
        if not isinstance(part, str):
            lines[-1].append(part)
            continue
        first, *others = re.split(r"[\r\n]", part)
        lines[-1].append(first)
        lines += [[other] for other in others]
    return lines


def _strip(line: _Parts) -> _Parts:
    """Without the white space around it, which is not compared."""
    kept = [part for part in line if part != ""]
    if kept and isinstance(kept[0], str):
        kept[0] = kept[0].lstrip()
    if kept and isinstance(kept[-1], str):
        kept[-1] = kept[-1].rstrip()
    return kept
