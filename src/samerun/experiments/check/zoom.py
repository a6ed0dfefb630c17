"""Records the step where runs part again, operation by operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from samerun.comparing.compare_runs import compare
from samerun.experiments.check.first_runs import FIRST_WINDOW, holds_first
from samerun.experiments.trials import Trials
from samerun.experiments.what_counts import find_result_difference
from samerun.explaining.confirm import is_not_after
from samerun.explaining.explained import Explained
from samerun.launching.workspace import Workspace
from samerun.runs.difference import Difference, Side, Strength
from samerun.runs.plan import Control, Plan
from samerun.runs.schema import RESULTS
from samerun.runs.store import Run
from samerun.sources.evidence.rows import is_in_helper, is_of_a_start

_MOVES = 3  # how often the window is moved to where the further runs part
_MOST_RUNS = 3  # recorded for one window: chance can make the first two agree


@dataclass(frozen=True)
class Zoom:
    """The best-known first difference; `reproduced` when the runs recorded last part there."""

    explained: Explained
    pair: tuple[str, str]
    reproduced: bool
    window: tuple[int, int] | None  # the steps that the further runs hold at tier ops
    stop_after: int | None
    note: str | None = None
    rare: bool = False  # most runs diverge later: further ones prove something where they agree to the end

    @property
    def difference(self) -> Difference:
        """The difference itself."""
        return self.explained.difference


def look_closer(
    trials: Trials,
    explained: Explained,
    pair: tuple[str, str],
    control: Control | None,
    *,
    at: Workspace | None = None,
    is_enough: Callable[[Explained], bool] = lambda explained: False,
    some_agree: bool = False,
) -> Zoom:
    """The first difference as seen by further runs at tier ops around it.

    Runs that are not repeatable can part elsewhere the next time: the window follows them, unless what is
    seen of a difference without its operations `is_enough`. `at` as in `Trials.record`. `some_agree`: of the
    first runs, which then do not show it in each.
    """
    first = latest = explained.difference
    note: str | None = None
    before: tuple[tuple[int, int], int | None] | None = None
    for _ in range(_MOVES):
        recorded = choose_window(latest), stop_after(latest)
        found, parted = _part(trials, latest, control, at)
        if (found is None or parted is None) and before is not None:
            # Earlier than most runs part: those recorded before, at a later step, did all the same.
            note = f"recorded again they diverged at step {latest.step} already, and not so in further runs"
            return Zoom(explained, pair, True, before[0], before[1], note, rare=True)
        if found is None or parted is None:
            return Zoom(explained, pair, False, *recorded, _describe_gone(latest, some_agree))
        latest, pair, explained = found, parted, Explained(_keep_helpers(found, first))
        if found.step >= recorded[0][0] or is_enough(explained):
            break
        before = recorded
    else:
        note = "every new pair of runs diverged earlier than the last"
    if latest.step != first.step and note is None:
        how = ", operation by operation," if latest.step >= recorded[0][0] else ""
        note = f"recorded again{how} they diverge at step {latest.step} already"
    return Zoom(explained, pair, True, *recorded, note)


def _describe_gone(difference: Difference, some_agree: bool) -> str:
    """What to report of a difference that further runs did not show."""
    gone = f"the difference at step {difference.step} did not come back in {_MOST_RUNS} further runs"
    if some_agree:
        return f"{gone}: it is rare, or what it came from has changed since"
    return f"{gone}, which were recorded more closely"


def see_at_once(explained: Explained, pair: tuple[Run, Run], first: Difference) -> Zoom | None:
    """The difference as runs show it that hold their first steps at tier ops, where they point to its reason.

    `first` is what differs but for operations of the setup.
    """
    if not all(map(holds_first, pair)) or not is_within(first, FIRST_WINDOW):
        return None
    if not (explained.is_seen or explained.is_likely):
        return None
    return Zoom(explained, (pair[0].id, pair[1].id), True, FIRST_WINDOW, stop_after(first))


def is_within(difference: Difference, recorded: tuple[int, int] | None) -> bool:
    """Whether these steps, recorded at tier ops, hold the place of the difference."""
    return recorded is not None and recorded[0] <= difference.step <= recorded[1]


def _keep_helpers(closer: Difference, whole: Difference) -> Difference:
    """The closer look, with what programs that never train reported in the whole runs.

    Those runs were stopped, and such programs with them: one that waits for its next job reports nothing.
    Nor does a process that started those which train.
    """
    reported = {row.process for side in (closer.a, closer.b) for row in side.evidence}

    def keep(side: Side, before: Side) -> Side:
        left = (row for row in before.evidence if row.process not in reported)
        rows = (row for row in left if is_in_helper(row) or is_of_a_start(row))
        return replace(side, evidence=(*side.evidence, *rows))

    return replace(closer, a=keep(closer.a, whole.a), b=keep(closer.b, whole.b))


def is_of_results(difference: Difference) -> bool:
    """Whether runs differ in a result alone, after their last step: no record shows where that begins."""
    return difference.what in RESULTS


def look_at_results(
    trials: Trials,
    explained: Explained,
    pair: tuple[str, str],
    control: Control | None,
    at: Workspace | None = None,
) -> Zoom:
    """A result that differs, with what was drawn since the last step where the evidence so far names no line.

    What `pair` printed stays the difference: an operation at the end need not be the reason for it.
    """
    best, first = explained.best, explained.difference
    if best is None or best.strength < Strength.STRONG or best.call_site in (None, first.call_site):
        plan = Plan(tier="ops", window=choose_window(first), control=control)
        found = find_result_difference(*trials.record("looking closer at the results", 2, plan, at))
        if found is not None:
            explained = Explained(replace(found[0], name=first.name, call_site=first.call_site))
    return Zoom(explained, pair, True, None, None)


def choose_window(difference: Difference) -> tuple[int, int]:
    """The steps to record at tier ops: the one before the difference, where its origin can be, and its own.

    Step -1 is the setup.
    """
    return difference.step - 1, difference.step


def stop_after(difference: Difference) -> int | None:
    """The last step that a run needs to show this difference, None for all of them.

    What happens between two steps (an evaluation, a file saved) is whole only once the next step is. Where
    several programs of a command train, to stop at a step of one is to stop before a later one begins.
    """
    if "." in difference.process:  # not the first to train: "rank0.8e0570bd.1"
        return None
    if difference.what == "end" or difference.phase == "end" or difference.kind == "ended":
        return None
    between = difference.phase == "evaluation" or difference.what == "saved"
    return difference.step + 1 if between else difference.step


def plan_closer_look(difference: Difference, control: Control | None = None) -> Plan:
    """That of runs which record the operations around a difference, and end once it has shown."""
    return Plan(
        tier="ops", window=choose_window(difference), stop_after=stop_after(difference), control=control
    )


def _part(
    trials: Trials, where: Difference, control: Control | None, at: Workspace | None
) -> tuple[Difference, tuple[str, str]] | tuple[None, None]:
    """The first difference, not after `where`, between runs at tier ops; nothing when they do not part."""
    runs: list[Run] = []
    while len(runs) < _MOST_RUNS:
        stage = f"looking closer at step {where.step}"
        runs += trials.record(stage, 1 if runs else 2, plan_closer_look(where, control), at)
        found = _find_first(runs, where)
        if found is not None:
            return found
    return None, None


def _find_first(runs: Sequence[Run], where: Difference) -> tuple[Difference, tuple[str, str]] | None:
    *others, last = runs
    for other in others:
        difference = compare(other, last).difference
        if difference is not None and is_not_after(difference, where):
            return difference, (other.id, last.id)
    return None
