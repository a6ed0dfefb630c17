"""The page of an experiment: a headline, plots of intervals, and tables. It has no script at all."""

from __future__ import annotations

from dataclasses import dataclass

from samerun.report.html.charts.interval_plot import Forest
from samerun.report.html.page import _make_environment, _read_asset, _trust, _write_policy
from samerun.report.json import write_text


@dataclass(frozen=True)
class Row:
    """One row of a table; `style` is "differs", "unknown", "same" or ""."""

    cells: tuple[str, ...]
    style: str = ""


@dataclass(frozen=True)
class Section:
    """One part of the page."""

    id: str
    title: str
    said: str = ""
    plot: Forest | None = None
    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Page:
    """The whole of it, as plain values."""

    verb: str
    style: str  # of the verdict: same, differs, unknown, or "alone"
    verdict: str
    headline: str
    command: str
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()


def render(page: Page) -> str:
    """The page as HTML: one file that loads nothing."""
    style = "\n".join(_read_asset(name) for name in ("page.css", "experiment.css"))
    template = _make_environment().get_template("experiment.html")
    return template.render(page=page, style=_trust(style), policy=_write_policy(style, []))


def write(page: Page, target: str) -> None:
    """Write it to the file `target`. Raises UsageError when that cannot be written."""
    write_text(render(page), target, "--html")
