"""Further runs, where those that agree may do so by luck; the first of them are unsettled on purpose.

What a source says may happen at any time (`Source.unsettled_by`: a thread that begins late) seldom happens by
itself on one machine, and recording moves when it does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from samerun.comparing.compare_runs import compare_whole
from samerun.comparing.comparison import Comparison
from samerun.comparing.in_play import list_free_running
from samerun.comparing.pairing import read
from samerun.experiments.check.zoom import Zoom, look_closer, see_at_once
from samerun.experiments.trials import Trials
from samerun.experiments.what_counts import weigh
from samerun.explaining.cause import Findings, make_cause
from samerun.explaining.explain import list_suspects
from samerun.explaining.explained import Explained
from samerun.launching.workspace import Workspace
from samerun.runs.difference import Difference, Evidence, Strength
from samerun.runs.plan import Plan
from samerun.runs.store import Run
from samerun.sources.catalogue import find_sources
from samerun.sources.source import Variant


@dataclass(frozen=True)
class Unsettled:
    """What the run that differs had, and those that agree had not."""

    source: str
    variant: Variant

    def change(self, plan: Plan) -> Plan:
        """The plan of such a run."""
        return replace(plan, vary={self.source: self.variant.value})


@dataclass(frozen=True)
class WholeRuns:
    """Runs, each further one compared with the first, and their plan.

    `unsettled` where what the last one had may be why it differs.
    """

    runs: list[Run]
    comparisons: list[Comparison]
    plan: Plan
    unsettled: Unsettled | None = None


def add_runs(
    trials: Trials,
    whole: WholeRuns,
    most: int,
    at: Workspace | None = None,
    *,
    stage: str = "recording again",
    unsettling: bool = True,
    known: Collection[str] = (),
) -> WholeRuns:
    """With further runs, `most` in all, until one differs, where those that agree may do so by luck.

    The first of them are unsettled, if asked to be. What is `known` to race calls for none.
    """
    runs, comparisons, plan = whole.runs, whole.comparisons, whole.plan
    if len(runs) >= most or any(item.verdict != "same" for item in comparisons):
        return whole
    free = [id_ for id_ in list_free_running(read(runs[0])) if id_ not in known]
    unsettled: Unsettled | None = None
    changes = _list_changes(free if unsettling else [])
    while free and len(runs) < most and comparisons[-1].verdict == "same":
        unsettled = next(changes, None)
        why = f"runs may agree by chance ({', '.join(free)})"
        if unsettled is not None:
            why = f"with {unsettled.variant.label}"
        changed = plan if unsettled is None else unsettled.change(plan)
        pair = [runs[0], *trials.record(f"{stage}: {why}", 1, changed, at)]
        runs = [*runs, pair[-1]]
        comparisons = [*comparisons, *weigh(pair, compare_whole(pair, steps=trials.request.steps))]
    return WholeRuns(runs, comparisons, plan, unsettled if comparisons[-1].verdict == "differs" else None)


def _list_changes(free: list[str]) -> Iterator[Unsettled]:
    for id_ in free:
        for variant in find_sources()[id_].unsettled_by:
            yield Unsettled(id_, variant)


def explain_unsettled(
    trials: Trials, whole: WholeRuns, seen: Explained, first: Difference
) -> tuple[Zoom, Findings] | None:
    """The source that was unsettled, as the cause: one more run each way does as those before it did.

    None where it was not that, or one of the two does otherwise. `first` as in `see_at_once`.
    """
    unsettled, plan, (a, *_, b) = whole.unsettled, whole.plan, whole.runs
    if unsettled is None:
        return None
    label = unsettled.variant.label
    for stage, again, verdict in (
        (f"once more, without {label}", plan, "same"),
        (f"once more, with {label}", unsettled.change(plan), "differs"),
    ):
        pair = [a, *trials.record(stage, 1, again)]
        if weigh(pair, compare_whole(pair, steps=trials.request.steps))[0].verdict != verdict:
            return None
    closer = see_at_once(seen, (a, b), first)
    if closer is None:
        with trials.unsettle(unsettled.change(plan).vary):
            closer = look_closer(trials, seen, (a.id, b.id), trials.request.control)
    own = (item for item in closer.explained.evidence if item.source == unsettled.source)
    evidence = next(own, Evidence(unsettled.source, Strength.STRONG, f"{label}: the result is another", None))
    cause = replace(make_cause(evidence, confirmed=True), unsettled=label)
    suspects = list_suspects(closer.difference, {unsettled.source})
    return closer, Findings((cause,), suspects=tuple(suspects), notes=closer.explained.notes)
