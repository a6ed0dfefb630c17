"""Follows the values of the user's variables to where a difference begins, where no cause is proved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from samerun.comparing.compare_runs import compare_all, find_earliest
from samerun.comparing.lines.differences import find_differences
from samerun.comparing.lines.origins import find_origins
from samerun.comparing.lines.reading import read_processes
from samerun.experiments.check.zoom import Zoom
from samerun.experiments.trials import Trials
from samerun.experiments.what_counts import weigh
from samerun.explaining.cause import Cause, Findings, make_cause
from samerun.explaining.followed import Followed, explain_origins
from samerun.launching.workspace import Workspace
from samerun.runs.difference import Evidence, Strength
from samerun.runs.plan import Control, Plan
from samerun.runs.store import Run

_MOST_RUNS = 3  # chance can make the first two agree


def follow_values(
    trials: Trials, closer: Zoom, findings: Findings, control: Control | None, at: Workspace | None = None
) -> Findings:
    """The findings, with the lines where values first differ that the runs' difference comes from.

    They come first, but after what was seen directly. A cause that is confirmed stays, and gets a line.
    """
    confirmed = any(cause.confirmed for cause in findings.causes)
    if confirmed and all(cause.call_site for cause in findings.causes):
        return findings
    followed = _follow(trials, closer, control, at)
    if confirmed:
        return replace(findings, causes=_add_lines(findings.causes, followed.evidence))
    ruled_out = {cause.source for cause in findings.ruled_out}
    found = [item for item in followed.evidence if item.source not in ruled_out]
    best = closer.explained.best
    seen = best is not None and best.strength >= Strength.SEEN
    causes = _put_seen_first(findings.causes, found) if seen else _put_found_first(findings.causes, found)
    return replace(findings, causes=causes, notes=(*findings.notes, *followed.notes))


def _put_found_first(causes: tuple[Cause, ...], found: list[Evidence]) -> tuple[Cause, ...]:
    first = {item.source: make_cause(item) for item in reversed(found)}
    made = [first[source] for source in dict.fromkeys(item.source for item in found)]
    return (*made, *(cause for cause in causes if cause.source not in first))


def _put_seen_first(causes: tuple[Cause, ...], found: list[Evidence]) -> tuple[Cause, ...]:
    """Those of the findings, at the line that was found where they have none."""
    known = _add_lines(causes, found)
    more = _put_found_first((), [item for item in found if item.source not in {c.source for c in causes}])
    return (*known, *more)


def _add_lines(causes: Sequence[Cause], found: Sequence[Evidence]) -> tuple[Cause, ...]:
    sites = {item.source: item.call_site for item in reversed(found)}
    return tuple(
        cause if cause.call_site else replace(cause, call_site=sites.get(cause.source)) for cause in causes
    )


def _follow(trials: Trials, closer: Zoom, control: Control | None, at: Workspace | None) -> Followed:
    plan = Plan(lines=True, stop_after=closer.stop_after, control=control)
    runs: list[Run] = []
    while len(runs) < _MOST_RUNS:
        runs += trials.record("following the values of variables", 1 if runs else 2, plan, at)
        comparisons = weigh(runs, compare_all(runs))
        parted = find_earliest(comparisons)
        if parted is None:
            continue
        difference = comparisons[parted].difference
        assert difference is not None
        try:
            nodes = find_differences(*(read_processes(run.path) for run in (runs[0], runs[parted + 1])))
        except (OSError, msgspec.MsgspecError):
            break
        return explain_origins(find_origins(nodes, difference), str(trials.request.folder))
    return Followed((), ())
