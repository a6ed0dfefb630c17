"""How the text of every result begins: the verdict, the notes, and what a failed command printed last."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from samerun.report.safe_text import HangingLine, Line, put, style_text

STYLES = {"same": "green", "differs": "bold red", "unknown": "yellow"}
_MARKS = {
    "same": ("✓ same", "bold green"),
    "differs": ("✗ differs", "bold red"),
    "unknown": ("? unknown", "bold yellow"),
}


def format_verdict(verdict: str, said: str) -> Line:
    """ "✓ same — 2 runs, 90 steps"."""
    word, style = _MARKS[verdict]
    return HangingLine(Text(word, style=style).append(" — ", "default"), style_text(said))


def show_opening(
    console: Console,
    verdict: Line,
    notes: Sequence[str],
    output: Sequence[str] = (),
    short: Sequence[Line] = (),
) -> None:
    """Print it; `short`: the cause and its fix, right below the verdict."""
    put(console, [verdict, *short, *(HangingLine(Text("  "), style_text(line)) for line in notes)])
    if output:
        put(console, [Text(), Text("The last lines it printed", style="bold")])
        put(console, [style_text(f"  {line}", "dim") for line in output])
