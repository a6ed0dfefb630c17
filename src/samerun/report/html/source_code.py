"""Lines of code and of a patch, in pieces that a page can colour."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from samerun.report.text import first_difference
from samerun.runs.source_lines import read_source

_LONGEST = 200_000  # characters that are worth taking apart

_Kind = Literal["head", "hunk", "add", "remove", "same"]
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


@dataclass(frozen=True)
class Piece:
    """A piece of a line; `kind` is the letter of its colour: k, s, c, n, f, or none."""

    kind: str
    text: str


@dataclass(frozen=True)
class CodeLine:
    """One line of a file; `here` where it is the one that is pointed at."""

    number: int
    here: bool
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class DiffLine:
    """One line of a unified diff."""

    kind: _Kind
    text: str


def excerpt(site: str | None, folder: str) -> list[CodeLine]:
    """The source line of a call site and its neighbours, as the file reads now; [] when it is gone."""
    found = None if site is None else read_source(site, folder)
    return [] if found is None else list_lines(*found)


def list_lines(lines: Sequence[str], here: int) -> list[CodeLine]:
    """The line of that number of a file (from 1) and its neighbours."""
    lines = [line.expandtabs(4) for line in lines]
    pieces = split_pieces(lines)
    return [
        CodeLine(line.number, line.here, tuple(pieces[line.number - 1]))
        for line in first_difference.list_around(lines, here)
    ]


def highlight_python(text: str) -> list[tuple[Piece, ...]]:
    """Lines of Python that are shown alone, such as advice."""
    return [tuple(line) for line in split_pieces(text.splitlines())]


def split_pieces(lines: Sequence[str]) -> list[list[Piece]]:
    """Each line of a Python file in its pieces."""
    from pygments.lexers.python import PythonLexer

    text = "\n".join(lines)
    if len(text) > _LONGEST:
        return [[Piece("", line)] for line in lines]
    done: list[list[Piece]] = [[]]
    for _, kind, value in PythonLexer().get_tokens_unprocessed(text):
        for number, part in enumerate(value.split("\n")):
            if number:
                done.append([])
            if part:
                done[-1].append(Piece(_colour(str(kind)), part))
    return done


_COLOURS = (  # the first that a kind of token begins with
    ("Token.Keyword", "k"),
    ("Token.Operator.Word", "k"),
    ("Token.Literal.String", "s"),
    ("Token.Comment", "c"),
    ("Token.Literal.Number", "n"),
    ("Token.Name.Function", "f"),
    ("Token.Name.Class", "f"),
    ("Token.Name.Decorator", "f"),
)


def _colour(kind: str) -> str:
    return next((colour for name, colour in _COLOURS if kind.startswith(name)), "")


def diff(text: str) -> list[DiffLine]:
    """The lines of a unified diff."""
    return list(_diff(text))


def _diff(text: str) -> Iterator[DiffLine]:
    removed = added = 0  # lines still to come in this hunk: a removed "-- x" reads as a header otherwise
    for line in text.splitlines():
        if removed <= 0 and added <= 0:
            hunk = _HUNK.match(line)
            if hunk is None:
                yield DiffLine("head", line)
                continue
            removed, added = (1 if count is None else int(count) for count in hunk.groups())
            yield DiffLine("hunk", line)
        elif line.startswith("-"):
            removed -= 1
            yield DiffLine("remove", line)
        elif line.startswith("+"):
            added -= 1
            yield DiffLine("add", line)
        elif line.startswith("\\"):  # no newline at the end of the file
            yield DiffLine("same", line)
        else:
            removed, added = removed - 1, added - 1
            yield DiffLine("same", line)
