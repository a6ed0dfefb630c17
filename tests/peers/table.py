"""The table of docs/peers.md: each fault that a test class is marked with, and what its tests found."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import rich.table

from .faults import PINS

COLUMNS = ("peer", "version", "fault", "shown today", "samerun")


@dataclass
class Row:
    """One fault; `found` has the outcome of `test_peer` and of `test_samerun`, once they have run."""

    peer: str
    shows: str
    samerun: str
    found: dict[str, str] = field(default_factory=dict)

    def cells(self) -> tuple[str, ...]:
        shown = {"passed": "yes", "failed": "NO"}.get(self.found.get("test_peer", ""), "not run")
        right = {"passed": self.samerun, "failed": f"FAILED: {self.samerun}"}
        return (
            self.peer,
            PINS[self.peer],
            self.shows,
            shown,
            right.get(self.found.get("test_samerun", ""), "not run"),
        )


class Outcomes:
    """A pytest plugin that fills the rows in, class by class."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            mark = item.get_closest_marker("fault")
            if mark is not None:
                self.rows.setdefault(_class(item.nodeid), Row(**mark.kwargs))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        row = self.rows.get(_class(report.nodeid))
        if row is not None and (report.when == "call" or report.outcome != "passed"):
            row.found[report.nodeid.rpartition("::")[2]] = report.outcome


def _class(nodeid: str) -> str:
    return nodeid.rpartition("::")[0]


def marked() -> list[Row]:
    """A row for every marked class of this folder, as if all its tests had passed."""
    rows = []
    for file in sorted(Path(__file__).parent.glob("test_*.py")):
        module = importlib.import_module(f"{__package__}.{file.stem}")
        rows += [_row(mark.kwargs) for each in vars(module).values() for mark in _marks(each)]
    return rows


def _row(marked_with: Mapping[str, str]) -> Row:
    return Row(**marked_with, found={"test_peer": "passed", "test_samerun": "passed"})


def _marks(each: Any) -> list[pytest.Mark]:
    marks = vars(each).get("pytestmark", []) if isinstance(each, type) else []
    return [mark for mark in marks if mark.name == "fault"]


def markdown(rows: Iterable[Row]) -> str:
    """The rows as docs/peers.md holds them."""
    lines = [COLUMNS, ("---",) * len(COLUMNS), *(row.cells() for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def pretty(rows: Iterable[Row]) -> rich.table.Table:
    """The rows for a terminal."""
    table = rich.table.Table(show_lines=True)
    for column in COLUMNS:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row.cells())
    return table
