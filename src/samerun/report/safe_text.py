"""Text that came from a run, made safe to show: a run may come from a stranger."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

# Cc control, Cf format (direction overrides, zero width), Co private, Cs surrogate, Zl and Zp separators.
_HIDDEN = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
_LONGEST = 100_000  # characters


def clean(value: object) -> str:
    """One line without anything that a terminal would act on; such characters become `?` or a space.

    What is longer than any command is cut: to wrap it would take minutes.
    """
    text = str(value)[:_LONGEST]
    return text if text.isprintable() else "".join(map(_make_visible, text))


def style_text(value: object, style: str = "") -> Text:
    """The cleaned text with a style; never read as markup."""
    return Text(clean(value), style=style)


@dataclass(frozen=True)
class HangingLine:
    """Prose that wraps: further lines begin below `body`, not below `head`."""

    head: Text
    body: Text


Line = Text | HangingLine  # a Text is never wrapped: commands, code and paths stay whole when they are copied


def put(console: Console, lines: Iterable[Line]) -> None:
    """Print the lines, prose wrapped to the console's width."""
    for text in wrap_lines(lines, console):
        console.print(text, soft_wrap=True)


def wrap_lines(lines: Iterable[Line], console: Console) -> Iterator[Text]:
    """The lines with prose wrapped to the console's width."""
    for line in lines:
        yield from [line] if isinstance(line, Text) else _wrap_line(line, console)


def _wrap_line(line: HangingLine, console: Console) -> list[Text]:
    indent = line.head.cell_len
    room = max(console.width - indent, 20)
    rows: list[Text] = []
    for row in line.body.wrap(console, room):
        row.rstrip()
        rows.append((Text(" " * indent) if rows else line.head.copy()).append_text(row))
    return rows or [line.head]


def _make_visible(character: str) -> str:
    if character in "\t\n\r":
        return " "
    return "?" if unicodedata.category(character) in _HIDDEN else character
