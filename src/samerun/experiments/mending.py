"""Checks a patch before it is offered: the patched code must give the same bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from samerun.comparing.compare import compare_all
from samerun.experiments.diagnosis import Found
from samerun.experiments.trials import Trials
from samerun.explaining.patch import Patch, patch
from samerun.launching.scratch import scratch_copy
from samerun.runs.plan import Control
from samerun.sources.catalogue import catalogue


def mend(trials: Trials, found: Sequence[Found], start: Path | None) -> Patch | None:
    """The patch for all causes, tried in a copy of the folder; one that does not mend is not offered.

    What no edit can mend is controlled in these runs, as its user must. `start` is the folder as it was
    before the first run; without one nothing can be tried, and the patch says so.
    """
    request = trials.request
    made = patch([(item.difference, cause) for item in found for cause in item.causes], request.folder)
    if made is None or not made.diff or start is None:
        return made
    control = request.control or as_its_user_must(made.cannot)
    last = None if request.steps is None else request.steps - 1
    with scratch_copy(start) as copy:
        made.apply(copy)
        trials.fresh = copy
        try:
            runs = trials.record("checking the patched code", 2, control=control, stop_after=last)
        finally:
            trials.fresh = None
    same = all(item.verdict == "same" for item in compare_all(runs, steps=request.steps))
    tried = replace(made, verified=same, runs=tuple(run.id for run in runs))
    return tried if same else replace(tried, diff="", files={})


def as_its_user_must(cannot: Mapping[str, str]) -> Control | None:
    """The control of the sources that no edit mends, by their ids."""
    known = catalogue()
    ids = tuple(id_ for id_ in cannot if id_ in known and known[id_].controllable)
    return Control(only=ids) if ids else None
