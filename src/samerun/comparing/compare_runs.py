"""Compares runs: the verdict, and where they diverge."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from samerun.comparing import operations
from samerun.comparing.alignment import TracePair
from samerun.comparing.compare_process import ProcessComparison, compare_process
from samerun.comparing.comparison import Comparison, Scope
from samerun.comparing.describing.difference import describe, describe_lone
from samerun.comparing.extent import find_reach, has_stopped
from samerun.comparing.pairing import RecordedRun, pair, read
from samerun.comparing.refactored.loss_modules import leave_out_lone
from samerun.comparing.unexplained_inputs import describe_unexplained
from samerun.comparing.without_effect import finds
from samerun.runs.difference import Difference
from samerun.runs.ignored import describe_left_out
from samerun.runs.reading import Trace
from samerun.runs.recorder_errors import explain_broken, read_complaints
from samerun.runs.schema import PHASES, only_helps
from samerun.runs.store import Run

_WHOLE = {"finished", "stopped"}  # outcomes of a run that did what it was asked to


def compare(a: Run, b: Run, *, steps: int | None = None) -> Comparison:
    """Whether two runs gave the same bits, in their first `steps` steps where given.

    A trace that cannot be read makes the verdict unknown, unless a difference is seen in the others.
    Raises RunError for a run without a readable manifest, SchemaError for a version not known here.
    """
    return compare_read(read(a), read(b), steps=steps)


_CUT_SHORT = frozenset({"timeout", "interrupted"})


def compare_all(runs: Sequence[Run], *, steps: int | None = None, setup: bool = True) -> list[Comparison]:
    """Each run but the first, compared with the first, below `steps` where it is given.

    `setup` as in `compare_read`.
    """
    if len(runs) < 2:
        return []
    first = read(runs[0])
    return [compare_read(first, read(run), steps=steps, setup=setup) for run in runs[1:]]


def compare_whole(runs: Sequence[Run], *, steps: int | None = None) -> list[Comparison]:
    """As `compare_all`, of whole runs: what differs in the setup and changes nothing does not count.

    That is operations, and what one run did there to make files that the other found, and need not make.
    Nothing means no record of any step, and no operation that is in both windows. A later operation always
    counts: what it gives may be printed, or decide something, without passing a record again.
    """
    if len(runs) < 2:
        return []
    first, *others = map(read, runs)
    compared = []
    for other in others:
        found = compare_read(first, other, steps=steps)
        where = found.difference
        if where is not None and _may_be_without_effect(where, first, other):
            without = compare_read(first, other, steps=steps, setup=False)
            if without.verdict == "same":
                found = replace(without, notes=(*without.notes, _describe_no_effect(where, first, other)))
        compared.append(found)
    return compared


def _may_be_without_effect(where: Difference, first: RecordedRun, other: RecordedRun) -> bool:
    if where.phase == "setup" and where.what == "operation":
        return True
    return where.step == 0 and any(finds(*runs) is not None for runs in ((first, other), (other, first)))


def _describe_no_effect(where: Difference, first: RecordedRun, other: RecordedRun) -> str:
    for letter, left, recorded in (("A", first, other), ("B", other, first)):
        row = finds(recorded, left)
        if row is not None:
            at = f" at {row.call_site}" if row.call_site else ""
            return (
                f"run {letter} made files that the other one found ({row.detail}{at}), without effect on "
                "anything else that was recorded"
            )
    at = f" at {where.call_site}" if where.call_site else ""
    return f"{where.op} differs{at}, without effect on anything else that was recorded"


def find_earliest(comparisons: Sequence[Comparison]) -> int | None:
    """Which comparison parts first in time, None when none does."""
    diverging = [
        (item.difference.step, PHASES.index(item.difference.phase), number)
        for number, item in enumerate(comparisons)
        if item.difference is not None
    ]
    return min(diverging)[-1] if diverging else None


def compare_trainings(a: Run, b: Run, *, steps: int | None = None) -> Comparison:
    """As `compare`, of what leads to the first loss and of what comes after it: not of what was before."""
    return compare_read(read(a), read(b), steps=steps, begun=True)


def compare_read(
    a: RecordedRun, b: RecordedRun, *, steps: int | None = None, setup: bool = True, begun: bool = False
) -> Comparison:
    """As `compare`, for traces that are read already.

    Without `setup` its operations are passed over, and what only that run did before its training which left
    files for the other one to find. `begun` as in `compare_process`.
    """
    found = _compare_kept(a, b, steps, setup=setup, begun=begun)
    left_out = tuple(dict.fromkeys((*a.left_out, *b.left_out)))
    return replace(found, left_out=left_out, notes=(*found.notes, *describe_left_out(left_out)))


def _compare_kept(
    a: RecordedRun, b: RecordedRun, steps: int | None, *, setup: bool, begun: bool
) -> Comparison:
    pairs, only_a, only_b = pair(a.compared, b.compared)
    losses = _read_losses(pairs, steps)
    runs = a.run.id, b.run.id
    for one, other in pairs:
        if reason := _explain_other_digests(one, other):
            return Comparison("unknown", Scope(runs), reason, losses=losses)
    pairs = [leave_out_lone(one, other) for one, other in pairs]
    done = [_compare_one(one, other, a, b, steps, setup=setup, begun=begun) for one, other in pairs]
    counts: Counter[str] = sum((item.counts for item in done), Counter())
    scope = Scope(
        runs,
        steps=max((item.steps for item in done), default=0),
        ranks=len({item.paired.a.rank for item in done}),
        counts=dict(counts),
        tier="ops" if any(item.operations for item in done) else "steps",
        window=_find_window(a, b, pairs),
    )
    notes = [note for item in done for note in item.notes] + _list_complaints(a.run, b.run)
    diverging = [item for item in done if item.divergence is not None]
    if diverging:
        first = min(diverging, key=lambda item: (item.position(), item.paired.a.rank, item.paired.a.stem))
        difference, more = describe(first, (a, b))
        losses = _read_losses([(first.paired.a, first.paired.b), *pairs], steps)
        notes = [*more, *first.notes, *_list_complaints(a.run, b.run)]
        return Comparison("differs", scope, None, difference, losses, tuple(notes))
    if not any(recorded.unreadable or explain_broken(recorded.run.path) for recorded in (a, b)):
        found = None if _cut_short(a, b) else _find_lone_process((a, b), (only_a, only_b))
        if found is not None:
            note = f"only one of the runs has a trace of {found.process}"
            return Comparison("differs", scope, None, found, losses, (note, *notes))
    reason = _explain_unknown(a, b, done, counts, only_a + only_b)
    if reason is None and (luck := describe_unexplained(a)):
        notes.append(luck)
    return Comparison("same" if reason is None else "unknown", scope, reason, None, losses, tuple(notes))


def _find_window(
    a: RecordedRun, b: RecordedRun, pairs: Sequence[tuple[Trace, Trace]]
) -> tuple[int, int] | None:
    for one, other in pairs:
        both = operations.intersect(operations.find_window(a.run, one), operations.find_window(b.run, other))
        if both is not None and both.last < math.inf:
            return int(both.first), int(both.last)
    return None


def _compare_one(
    one: Trace,
    other: Trace,
    a: RecordedRun,
    b: RecordedRun,
    steps: int | None,
    *,
    setup: bool,
    begun: bool,
) -> ProcessComparison:
    if any(recorded.run.outcome in _CUT_SHORT for recorded in (a, b)):
        # A script may save or evaluate when it is asked to end: that says nothing about the training.
        whole = min(_count_steps_done(one), _count_steps_done(other)) - 1
        steps = max(whole, 0) if steps is None else min(steps, max(whole, 0))
    window = operations.intersect(operations.find_window(a.run, one), operations.find_window(b.run, other))
    left = False, False
    if not setup:
        window = operations.intersect(window, operations.Window(0, math.inf))
        left = finds(b, a) is not None, finds(a, b) is not None
    reaches = find_reach(one, steps, _was_stopped(a)), find_reach(other, steps, _was_stopped(b))
    return compare_process(TracePair(one, other), reaches, window, steps, left, begun=begun)


def _count_steps_done(trace: Trace) -> int:
    return int(trace.steps[trace.is_one_of("phase", {"optimizer"})].max(initial=-1)) + 1


def _was_stopped(recorded: RecordedRun) -> bool:
    """Whether the plan stopped this run; its other processes were ended with the one that says so."""
    manifest = recorded.run.manifest
    planned = manifest.plan.get("stop_after") is not None and manifest.outcome == "stopped"
    return planned and any(map(has_stopped, recorded.compared))


def _explain_other_digests(a: Trace, b: Trace) -> str | None:
    """Why the digests of two traces cannot be held against each other, None when they can."""
    one, other = a.meta.get("digests"), b.meta.get("digests")
    if one == other:
        one, other = _list_device_algorithms(a), _list_device_algorithms(b)
    if one == other:
        return None
    return (
        f"{a.stem} was digested by different algorithms in the two runs "
        f"({_list_algorithms(one)}; {_list_algorithms(other)}), "
        "so their bits cannot be compared. Record both with the same version of samerun and on the same kind "
        "of device."
    )


def _list_device_algorithms(trace: Trace) -> tuple[str, ...]:
    """The algorithms that digested tensors on devices, as noted when the first such tensor came."""
    noted = trace.is_one_of("what", {"note"}) & trace.is_one_of("name", {"digests"})
    return tuple(sorted({row.detail or "" for row in trace.rows(noted)}))


def _list_algorithms(algorithms: object) -> str:
    if isinstance(algorithms, Mapping):
        return ", ".join(sorted({str(value) for value in algorithms.values()})) or "none"
    if isinstance(algorithms, tuple):
        return ", ".join(algorithms) or "tensors of the host alone"
    return str(algorithms)


def _find_lone_process(
    runs: tuple[RecordedRun, RecordedRun], only: tuple[list[Trace], list[Trace]]
) -> Difference | None:
    """A process that trained in one run and not in the other, which was not kept from it."""
    for here, there in ((0, 1), (1, 0)):
        if only[here] and runs[there].run.outcome == "finished":
            return describe_lone(only[here][0], runs)
    return None


def _explain_unknown(
    a: RecordedRun,
    b: RecordedRun,
    done: Sequence[ProcessComparison],
    counts: Counter[str],
    only: Sequence[Trace],
) -> str | None:
    """Why runs that show no difference are not called the same, None when they are."""
    unreadable = (message for recorded in (a, b) for message in recorded.unreadable.values())
    reason = (
        _explain_broken(a) or _explain_broken(b) or next(unreadable, None) or _describe_outcomes(a.run, b.run)
    )
    if reason is not None:
        return reason
    if not counts:
        return (only and _cut_short(a, b)) or "nothing that can be compared was recorded in both runs"
    for item in done:
        if item.unknown is not None:
            return item.unknown
    if only and (cut := _cut_short(a, b)):
        return cut
    if only:
        return f"only one of the runs has a trace of {only[0].stem}, and the other was stopped"
    return None


def _cut_short(a: RecordedRun, b: RecordedRun) -> str | None:
    """Which process left no record that decides because its trace was cut; None when there is none."""
    for name, recorded in (("A", a), ("B", b)):
        for trace in recorded.other:
            if not trace.complete and not only_helps(trace.stem):
                return f"the records of {trace.stem} stop before the end of the process in run {name}"
    return None


def _explain_broken(recorded: RecordedRun) -> str | None:
    """Why the recording of a process that decides broke off, None when none did."""
    if reason := explain_broken(recorded.run.path):
        return reason
    for trace in recorded.compared:
        failed = trace.is_one_of("what", {"note"}) & trace.is_one_of("name", {"recorder-error"})
        for row in trace.rows(failed):
            lines = (row.detail or "").strip().splitlines() or ["an error of samerun's own"]
            return f"the recording of {trace.stem} broke off at step {row.step} ({row.phase}): {lines[-1]}"
    return None


def _list_complaints(a: Run, b: Run) -> list[str]:
    """What failed in the processes of either run without ending a recording."""
    lines = dict.fromkeys((*read_complaints(a.path), *read_complaints(b.path)))
    return [f"while recording: {line}" for line in lines]


def _describe_outcomes(a: Run, b: Run) -> str | None:
    """What is to be reported of runs that did not end as they should, None when both did."""
    if a.outcome in _WHOLE and b.outcome in _WHOLE:
        return None
    if a.outcome == b.outcome == "failed":
        return (
            f"the command failed in both runs (exit codes {a.manifest.exit_code} and {b.manifest.exit_code})"
        )
    outcomes = [f"run {name} {_describe_outcome(run)}" for name, run in (("A", a), ("B", b))]
    return f"{outcomes[0]} and {outcomes[1]}; as far as both go, they are equal"


def _describe_outcome(run: Run) -> str:
    if run.outcome == "failed":
        return f"failed (exit code {run.manifest.exit_code})"
    words = {"timeout": "ran out of time", "interrupted": "was interrupted", "running": "is still running"}
    return words.get(run.outcome, run.outcome)


def _read_losses(
    pairs: Sequence[tuple[Trace, Trace]], steps: int | None
) -> tuple[Mapping[int, tuple[float, ...]], Mapping[int, tuple[float, ...]]]:
    """The losses by step, below `steps`, of the first of these processes that has any, in both runs."""
    for one, other in pairs:
        both = one.losses(), other.losses()
        if any(both):
            most = math.inf if steps is None else steps
            a, b = ({step: found for step, found in side.items() if step < most} for side in both)
            return a, b
    return {}, {}
