"""Checks a patch before it is offered: the patched code must give the same bits."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from samerun.comparing.compare import compare_all
from samerun.experiments.diagnosis import Found
from samerun.experiments.trials import Trials
from samerun.explaining.patch import Patch, patch
from samerun.launching.scratch import scratch_copy


def mend(
    trials: Trials, found: Sequence[Found], start: Path | None, by_edit: Collection[str]
) -> Patch | None:
    """The patch for all causes, tried in a copy of the folder; one that does not mend is not offered.

    Where no edit mends one of the causes, those for the others are `partial`. `start` is the folder as it was
    before the first run; without one nothing can be tried, and the patch says so. `by_edit` as in `patch`.
    """
    request = trials.request
    causes = [(item.difference, cause) for item in found for cause in item.causes]
    made = patch(causes, request.folder, by_edit)
    if made is not None and made.cannot:
        return replace(made, diff="", files={}, partial=made.diff)
    if made is None or not made.diff or start is None:
        return made
    last = None if request.steps is None else request.steps - 1
    with scratch_copy(start) as copy:
        made.apply(copy)
        trials.within = copy
        try:
            runs = trials.record("checking the patched code", 2, control=request.control, stop_after=last)
        finally:
            trials.within = None
    same = all(item.verdict == "same" for item in compare_all(runs, steps=request.steps))
    tried = replace(made, verified=same, runs=tuple(run.id for run in runs))
    return tried if same else replace(tried, diff="", files={})
