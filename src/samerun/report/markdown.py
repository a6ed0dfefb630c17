"""A result as Markdown, for a pull request, an issue or the summary of a CI job."""

from __future__ import annotations

import re
from collections.abc import Callable

from rich.console import Console

from samerun.report.text.plain_text import render_text

_WIDTH = 100
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|])")


def render(show: Callable[[Console], None]) -> str:
    """The verdict as a heading, and below it what a terminal shows."""
    text = render_text(show, _WIDTH)
    heading = _SPECIAL.sub(r"\\\1", text.split("\n", 1)[0].split(" — ", 1)[0])
    # No text can end a fence that is longer than each of its own.
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
    return f"### {heading}\n\n{fence}text\n{text.rstrip()}\n{fence}\n"
