"""What the sources say of themselves, as text."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from samerun.experiments.describe_sources import Described
from samerun.report.safe_text import styled


def show(described: Sequence[Described], console: Console) -> None:
    """Print one block for each source: its id and summary, then what it says, one value a line."""
    for item in described:
        title = styled(item.id, "bold").append_text(styled(f"  {item.summary}", "dim"))
        console.print(title, soft_wrap=True)
        for line in _lines(item):
            console.print(Text("    ").append_text(line), soft_wrap=True)


def _lines(item: Described) -> list[Text]:
    if item.error is not None:
        return [styled(f"could not be described: {item.error}", "yellow")]
    if not item.in_play:
        return [styled("not in use here", "dim")]
    return [styled(f"{key}: {_value(value)}") for key, value in item.says.items()]


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
