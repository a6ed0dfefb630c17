"""How to get the line of a difference of two recorded runs whose records have none."""

from __future__ import annotations

from samerun.experiments.check.first_runs import FIRST_WINDOW, holds_first
from samerun.experiments.check.zoom import is_of_results, is_within
from samerun.explaining.explained import Explained
from samerun.runs.store import Run


def describe_line_hint(explained: Explained, a: Run, b: Run) -> str | None:
    """One sentence, None where a line is known or no record can have it."""
    difference = explained.difference
    sites = difference.call_site, difference.other_site, difference.origin and difference.origin.call_site
    if any(sites) or is_of_results(difference):
        return None
    if not any(item.of_other_program for item in explained.evidence):
        return "no line is known; `samerun check` looks closer at the difference"
    if not is_within(difference, FIRST_WINDOW):
        return "no line is known: operations are recorded up to the first step alone"
    if holds_first(a) and holds_first(b):
        return None
    return (
        "no line is known; `samerun check` in each state of the code records the first operations: "
        "compare a run of each"
    )
