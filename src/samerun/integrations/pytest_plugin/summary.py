"""The end of `pytest --samerun`: which tests are not repeatable, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_WORDS = {"differs": "not repeatable", "unknown": "unknown"}


def list_lines(reports: Sequence[Any]) -> list[str]:
    """The lines of the summary; [] where no test ran in fresh processes."""
    found = [report for report in reports if getattr(report, "samerun", None) is not None]
    if not found:
        return []
    odd = [report for report in found if report.samerun["verdict"] != "same"]
    count = len(found) - len(odd)
    lines = [
        f"{len(found)} tests, each alone in fresh processes: {count} repeatable, {len(odd)} not (or unknown)",
        "compared: how each ended, what torch did, the results it printed, the values it drew from "
        "global generators and from NumPy's that outlive it",
    ]
    for report in sorted(odd, key=lambda report: report.nodeid):
        lines.append(f"{_WORDS[report.samerun['verdict']]}: {_name_test(report)}: {report.samerun['why']}")
    return lines


def _name_test(report: Any) -> str:
    """Its id, with the file where pytest leaves that out: one that lies outside of the root folder."""
    name: str = report.nodeid
    return f"{report.location[0]}{name}" if name.startswith("::") else name
