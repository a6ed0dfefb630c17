"""Text of a stranger, made safe to show."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.text import Text

from samerun.report.safe_text import HangingLine, clean, put, style_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain é 漢", "plain é 漢"),
        ("a\tb\r\nc", "a b  c"),
        ("\x1b[31mred", "?[31mred"),
        ("a\u202eb\u200bc\ud800", "a?b?c?"),
        (None, "None"),
    ],
)
def test_nothing_that_a_terminal_acts_on(text: object, expected: str) -> None:
    assert clean(text) == expected


def test_markup_is_text() -> None:
    assert style_text("[bold]x[/bold]", "red").plain == "[bold]x[/bold]"


def test_prose_wraps_below_itself_and_a_line_never() -> None:
    file = io.StringIO()
    console = Console(file=file, width=26)
    put(console, [Text("x" * 40), HangingLine(Text("fix   "), Text("some words that are longer"))])
    assert file.getvalue() == "x" * 40 + "\nfix   some words that are\n      longer\n"
