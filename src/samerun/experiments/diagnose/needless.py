"""Differences in operations that reach no step of the training: initial weights, a cache that is filled."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from samerun.experiments.diagnose.controlled_runs import ControlledRuns
from samerun.experiments.diagnose.result import FirstDifference
from samerun.runs.plan import Plan
from samerun.sources.catalogue import find_sources

_NOTE = "{}: {} at {} gives other values in each run, without effect: with the rest controlled, runs agree"


def leave_out(settled: ControlledRuns, found: Sequence[FirstDifference]) -> list[FirstDifference]:
    """Those of several first differences without which runs still differ, each tried by two whole runs.

    Only operations of the setup are asked about: from the first step on, what differs goes into the weights.
    """
    left = list(found)
    for item in found:
        sources = {cause.source for cause in item.causes}
        setup = item.difference.what == "operation" and item.difference.phase == "setup"
        ways = {settled.way(source) for source in sources}
        if len(left) < 2 or not setup or ways not in ({"control"}, {"fresh"}):
            continue
        with settled.prepared() if ways == {"control"} else settled.in_turn() as prepared:
            if prepared.patch is not None and _seeds_too(prepared.patch.diff, sources):
                continue  # it is controlled all the same
            plan = Plan(control=settled.control(without=sources))
            named = " + ".join(sorted(sources))
            proven = settled.further(f"is it without effect: {named}", 2, plan, prepared)
        if proven.comparison.verdict != "same":
            continue
        settled.free(sources)
        left.remove(item)
        note = _NOTE.format(named, item.difference.name, item.difference.call_site or "an unknown line")
        at = left[0]
        left[0] = replace(at, notes=(*at.notes, note))
    return left


def _seeds_too(diff: str, sources: Collection[str]) -> bool:
    """Whether the edits for other sources seed one of these generators as well."""
    added = [line for line in diff.splitlines() if line.startswith("+")]
    seeding = [getattr(find_sources().get(source), "mended_by", "") for source in sources]
    names = [".".join(name.rsplit(".", 2)[-2:]) for name in seeding if name]
    return any(f"{name}(" in line for name in names for line in added)
