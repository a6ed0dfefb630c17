"""What each verb says of a cause in the same words: its line, its fix, its page, that it was ruled out."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from samerun.explaining.cause import Cause
from samerun.report.safe_text import HangingLine, Line, style_text
from samerun.sources.catalogue import find_sources

NO_SOURCE = "no source of the catalogue explains it"
_PAGE = "https://github.com/samerun/samerun/blob/main/docs/explanations/{}.md"
_ONE_LINE = 90  # characters: a fix of several statements that is shorter is shown on one line


def describe_in_short(causes: Sequence[Cause], fix: str | None = None) -> list[Line]:
    """A line for the causes that are confirmed, or else for the likeliest, and one for the fix.

    `fix`: what was tried, in place of the advice of the first cause.
    """
    confirmed = [cause for cause in causes if cause.confirmed]
    named = confirmed or list(causes[:1])
    if not named:
        return [_format_line("cause", style_text(NO_SOURCE))]
    said = Text("; ").join(_name_cause(cause) for cause in named)
    said.append(*(" (confirmed)", "green") if confirmed else (" (likely, not confirmed)", "yellow"))
    lines = [_format_line("cause", said)]
    if fix := fix or _shorten(named[0].advice):
        lines.append(Text(f"  {'fix':<7}", "dim").append_text(style_text(fix, "cyan")))
    return lines


def find_page(source: str) -> str | None:
    """The address of the page on a source of the catalogue."""
    return _PAGE.format(source) if source in find_sources() else None


def describe_ruled_out(source: str) -> str:
    """What controlling a source showed, where the runs went on to diverge."""
    known = find_sources().get(source)
    if known is not None and known.edits_may_fall_short:
        return "the runs still diverge there with the edits that were tried: these may not reach all of it"
    held = "what your own code reads of it" if known is not None and known.in_own_code else "it"
    return f"the runs still diverge there with {held} controlled"


def _name_cause(cause: Cause) -> Text:
    name = style_text(cause.source, "bold red" if cause.confirmed else "bold")
    return name.append_text(style_text(f" at {cause.call_site}", "default")) if cause.call_site else name


def _shorten(advice: str) -> str:
    lines = advice.splitlines()
    together = "; ".join(lines)
    plain = all(line == line.lstrip() and not line.endswith((":", ",", "(")) for line in lines)
    return together if plain and len(together) <= _ONE_LINE else "".join((*lines[:1], " …"))


def _format_line(label: str, said: Text) -> Line:
    return HangingLine(Text(f"  {label:<7}", "dim"), said)
