"""What the sources say of themselves, as text."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from samerun.experiments.describe_sources import SourceDescription
from samerun.report.safe_text import style_text


def show(described: Sequence[SourceDescription], console: Console) -> None:
    """Print one block for each source: its id and summary, then what it says, one value a line."""
    for item in described:
        title = style_text(item.id, "bold").append_text(style_text(f"  {item.summary}", "dim"))
        console.print(title, soft_wrap=True)
        for line in _format_lines(item):
            console.print(Text("    ").append_text(line), soft_wrap=True)


def _format_lines(item: SourceDescription) -> list[Text]:
    if item.error is not None:
        return [style_text(f"could not be described: {item.error}", "yellow")]
    if not item.in_play:
        return [style_text("not in use here", "dim")]
    return [style_text(f"{key}: {_format_value(value)}") for key, value in item.says.items()]


def _format_value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
