"""Holds one resumed run against the run that was never stopped, wherever it went on from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from samerun.comparing.compare_runs import compare, compare_read, compare_trainings
from samerun.comparing.comparison import Comparison, Scope
from samerun.comparing.pairing import pair, read
from samerun.experiments import run_outcome
from samerun.experiments.resume.advice import COUNTERS, COUNTERS_ADVICE, OTHER, OTHER_ADVICE, Lack
from samerun.experiments.resume.aligned_traces import AlignedTraces, align_continued
from samerun.experiments.resume.evidence import Case
from samerun.experiments.resume.last_lines import (
    describe_printed,
    find_differing_last_line,
    find_other_count,
)
from samerun.experiments.resume.missing_state import find_missing
from samerun.experiments.resume.preconditions import describe_failed
from samerun.experiments.resume.resume_step import Position, find_position, has_trained, list_checkpoints
from samerun.experiments.resume.saved_numbers import find_differing_number
from samerun.experiments.resume.swapped_names import name_as
from samerun.experiments.written_results import Written
from samerun.runs.reading import Trace
from samerun.runs.store import Run


@dataclass(frozen=True)
class KilledRun:
    """A run that was killed: before step `at` of the whole run, having begun at step `began`."""

    run: Run
    at: int
    began: int = 0


@dataclass(frozen=True)
class Resumption:
    """A resumed run beside the whole one. `comparison` counts the steps of the whole run."""

    run: Run
    comparison: Comparison
    position: Position | None = None  # None: it cannot be told
    lacks: tuple[Lack, ...] = ()

    @property
    def steps(self) -> int:
        """How many of its steps were compared."""
        began = 0 if self.position is None else self.position.step
        return max(self.comparison.scope.steps - began, 0)


def compare_resumed(
    whole: Run,
    killed: Sequence[KilledRun],
    resumed: Run,
    steps: int | None = None,
    saved: Callable[[], frozenset[str]] = frozenset,
) -> Resumption:
    """Compare `resumed`, which goes on from the `killed` runs, with `whole`, below `steps` where given.

    `saved` says what the checkpoint is known to have, by the words of `samerun.state.audit`.

    The verdict is unknown when nothing was resumed, or nothing of it can be compared.
    """
    a, b = read(whole), read(resumed)
    pairs, only_a, only_b = pair(*(list(filter(has_trained, side.compared)) for side in (a, b)))
    if not pairs:
        return _make_unknown(whole, resumed, None, _explain_untrained(resumed))
    at = find_last_checkpoint(killed)
    found = _find_position(pairs, None if at is None else at[0], killed[-1].at)
    if reason := _explain_nothing_resumed(found, killed, at):
        return _make_unknown(whole, resumed, found, reason)
    pairs = [(one, name_as(one, other, found.step)) for one, other in pairs]
    joined = [(one, other, align_continued(one, other, found.step)) for one, other in pairs]
    kept = [(one, other, item) for one, other, item in joined if item is not None]
    if not kept:
        text = f"it went on from step {found.step}, of which the whole run has no record"
        return _make_unknown(whole, resumed, found, text)
    comparison = compare_read(
        replace(a, compared=[item.whole for _, _, item in kept] + only_a),
        replace(b, compared=[item.resumed for _, _, item in kept] + only_b),
        steps=steps,
    )
    result = Resumption(resumed, comparison, found)
    if comparison.difference is None and comparison.verdict == "same" and not result.steps:
        return _make_unknown(whole, resumed, found, "no step that it made after the resume could be compared")
    if comparison.verdict == "same" and steps is None and (number := find_differing_number(whole, resumed)):
        of = (OTHER, OTHER_ADVICE) if isinstance(number[1].one, str) else (COUNTERS, COUNTERS_ADVICE)
        lack = Lack(of[0], _describe_saved(number[1]), of[1])
        differs = replace(comparison, verdict="differs", difference=number[0])
        return replace(result, comparison=differs, lacks=(lack,))
    if (
        comparison.verdict == "same"
        and steps is None
        and (printed := find_differing_last_line(whole, resumed))
    ):
        difference, lack = describe_printed(whole, resumed, printed)
        if difference.call_site is None:  # a framework's own: its user can do nothing about it
            notes = (*comparison.notes, f"what the runs print last is not equal: {lack.evidence}")
            return replace(result, comparison=replace(comparison, notes=notes))
        differs = replace(comparison, verdict="differs", difference=difference)
        return replace(result, comparison=differs, lacks=(lack,))
    if comparison.verdict == "same" and steps is None and (count := find_other_count(whole, resumed)):
        note = (
            f"the run never stopped prints {count.one!r} at its end, the resumed one {count.other!r}: a "
            "counter that began anew, which matters where anything is decided by it"
        )
        result = replace(result, comparison=replace(comparison, notes=(*comparison.notes, note)))
    return replace(result, lacks=_lacks(result, found, kept, saved))


def _describe_saved(saved: Written) -> str:
    if isinstance(saved.one, str):  # a digest
        return f"the {saved.name} in {saved.path} is another one at the end of the resumed run"
    whole = f"`{saved.name}` in {saved.path} is {saved.one!r} at the end of the run that was never stopped"
    return f"{whole}, and {saved.other!r} at the end of the resumed one"


def compare_repeated(whole: Run, again: Run, steps: int | None = None) -> Comparison:
    """Compare two runs of the command itself, without what precedes the training and does not reach it."""
    found = compare(whole, again, steps=steps)
    if found.difference is None:
        return found
    trained = compare_trainings(whole, again, steps=steps)
    return trained if trained.verdict == "same" else found


def saves_the_same(whole: Run, again: Run) -> bool:
    """Whether two runs of the command itself end with the same results in what they save and print last."""
    return find_differing_number(whole, again) is None and find_differing_last_line(whole, again) is None


def find_last_checkpoint(killed: Sequence[KilledRun]) -> tuple[int, str | None] | None:
    """(steps of the whole run done, path where known) at the last torch.save before the kill, if any."""
    for item in reversed(killed):
        for trace in filter(has_trained, read(item.run).compared):
            if found := list_checkpoints(trace):
                step = item.began + found[-1][0]
                path = next((path for done, path in reversed(found) if path is not None), None)
                return step, path
    return None


def _find_position(pairs: Sequence[tuple[Trace, Trace]], checkpoint: int | None, killed_at: int) -> Position:
    """As the first process tells whose weights are found."""
    found = [find_position(one, other, checkpoint, killed_at) for one, other in pairs]
    return next((item for item in found if item.by in ("weights", "first step")), found[0])


def _explain_nothing_resumed(
    found: Position, killed: Sequence[KilledRun], checkpoint: tuple[int, str | None] | None
) -> str | None:
    """Why the run does not go on from what the killed one left, None when it does."""
    if found.fresh and checkpoint is None:
        return (
            "the resumed command started from scratch: its weights before its first step are those of the "
            f"very start. No torch.save was seen before the kill at step {killed[-1].at}: kill it later, "
            "after a checkpoint, or name the command that resumes with --resume-with"
        )
    if found.step > killed[-1].at:
        return (
            f"the resumed command went on from step {found.step}, and was killed before step "
            f"{killed[-1].at}: it read what another run had left. Have the command write inside the folder "
            "that it is started in: each series of runs gets its own copy of that"
        )
    return None


def _explain_untrained(resumed: Run) -> str:
    if resumed.outcome not in run_outcome.WHOLE:
        return describe_failed(resumed)
    return "the resumed command made no optimizer step, so there is nothing to compare"


def _lacks(
    result: Resumption,
    found: Position,
    kept: Sequence[tuple[Trace, Trace, AlignedTraces]],
    saved: Callable[[], frozenset[str]],
) -> tuple[Lack, ...]:
    difference = result.comparison.difference
    if difference is None or run_outcome.is_crash(result.comparison, [result.run]):
        return ()
    for one, other, item in kept:
        if difference.process in (one.stem, other.stem):
            return find_missing(Case(difference, found, one, other, item, saved))
    return ()


def _make_unknown(whole: Run, resumed: Run, found: Position | None, reason: str) -> Resumption:
    return Resumption(resumed, Comparison("unknown", Scope((whole.id, resumed.id)), reason), found)
