"""Whether two whole runs are equal in all that the training made, whatever else differs between them."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from samerun.comparing.alignment import TracePair, align
from samerun.comparing.comparison import Comparison
from samerun.comparing.extent import find_reach
from samerun.comparing.pairing import RecordedRun, is_of_a_pool, pair
from samerun.comparing.side_threads import compare_beside, is_beside
from samerun.runs.difference import Difference, Row
from samerun.runs.reading import Trace
from samerun.runs.recorder_errors import explain_broken
from samerun.runs.schema import RENAMED, SAVED, TRAINING

if TYPE_CHECKING:
    from samerun.runs.reading import Ints

_MADE = frozenset(["loss", "gradients", "parameters", "buffers", "optimizer", "saved"])
_COLUMNS = ("phase", "what", "name")
_EVALUATION = frozenset(["evaluation"])
_PROCESS = re.compile(r"\d{4,}")


def trained_alike(a: RecordedRun, b: RecordedRun) -> bool:
    """Whether every loss, gradient, weight, buffer, optimizer state, saved file and evaluation is equal.

    Of what comes before the first loss only saved files count: what else it reaches shows in that loss, or in
    the weights after it. Of a file that is saved again and again the last counts: the others are gone. An
    evaluation that only one run made does not count; where both made it, it does.
    False where that cannot be told: a trace is not whole, or no model input was recorded.
    """
    if any(run.unreadable or explain_broken(run.run.path) for run in (a, b)):
        return False
    if not any(map(_count_updates, a.compared)):
        return False
    pairs, only_a, only_b = pair(a.compared, b.compared)
    left = [both for both in pairs if not _process_trained_alike(TracePair(*both))]
    apart = [*only_a, *only_b, *(trace for both in left for trace in both)]
    return not apart or (all(map(is_of_a_pool, apart)) and _pools_trained_alike(a, b))


def train_in_threads(recorded: RecordedRun) -> bool:
    """Whether several threads of one process made steps: whose is next is another one's in each run."""
    return any(map(_trains_in_threads, recorded.compared))


def train_in_pool(recorded: RecordedRun) -> bool:
    """Whether processes of a pool made steps: which of them gets a task is another one in each run."""
    return any(is_of_a_pool(trace) and _count_updates(trace) for trace in recorded.compared)


def shares_tasks(recorded: RecordedRun, process: str) -> bool:
    """Whether several threads of this process train, or processes of its pool: their order is chance."""
    if any(trace.stem == process and _trains_in_threads(trace) for trace in recorded.compared):
        return True
    pool = [trace for trace in recorded.compared if is_of_a_pool(trace) and _count_updates(trace)]
    ranks = [trace.rank for trace in pool if trace.stem == process]
    return any(trace.rank in ranks and trace.stem != process for trace in pool)


def describe_order_of_processes() -> str:
    """What to report of such runs, where each training is equal."""
    return (
        "processes of a pool train: which of them gets a task is another one in each run, and all that they "
        "make is equal"
    )


def describe_order_of_threads() -> str:
    """What to report of such runs whose steps are equal and come in another order."""
    return "several threads train: their steps come in another order in each run, and each of them is equal"


def describe_without_effect(first: Difference, site: str | None) -> str:
    """What to report of the first thing that differs between such runs, and of the line that made it."""
    if first.what == "saved" and first.kind == "flow":
        return f"{first.name} is saved in other steps of each run, and holds the same at the end"
    what = first.op or f"{first.what} {first.name or ''}".rstrip()
    at = f" at {site}" if site else ""
    return (
        f"{what} differs{at} (step {first.step}, {first.phase}), without effect on any loss, gradient, "
        "weight, evaluation or result"
    )


def finds(recorded: RecordedRun, left: RecordedRun) -> Row | None:
    """Where a run first read a file that the other run wrote and itself did not, None where it never did."""
    there = {row.detail for row in _list_rows(left, "written")} - {
        row.detail for row in _list_rows(recorded, "written")
    }
    return next((row for row in _list_rows(recorded, "opened") if row.detail in there), None)


def find_row(recorded: RecordedRun, difference: Difference) -> tuple[Row, Row | None] | None:
    """(the record of run A at a difference, the pass over its data where it is a batch); None without one."""
    import numpy as np

    trace = next((trace for trace in recorded.compared if trace.stem == difference.process), None)
    if trace is None or difference.run == "b" or difference.place >= len(trace):
        return None
    row = trace.row(difference.place)
    passes = np.flatnonzero(trace.is_one_of("what", {"pass"}) & trace.is_one_of("name", {row.name or ""}))
    before = passes[passes < difference.place]
    return row, trace.row(int(before[-1])) if row.what == "batch" and len(before) else None


def count_made(comparison: Comparison) -> Comparison:
    """With a scope that names what decides alone: the rest was not equal throughout."""
    counts = {what: count for what, count in comparison.scope.counts.items() if what in _MADE}
    return replace(comparison, scope=replace(comparison.scope, counts=counts))


def _count_updates(trace: Trace) -> int:
    made = trace.is_one_of("what", {"parameters"}) & trace.is_one_of("phase", {"optimizer"})
    return int(made.sum())


def _process_trained_alike(paired: TracePair) -> bool:
    import numpy as np

    traces = paired.a, paired.b
    if any(find_reach(trace, None, False).why != "ended" for trace in traces):
        return False
    ends = [[row.name for row in trace.rows(trace.is_one_of("what", {"end"}))] for trace in traces]
    inputs = [bool(trace.is_one_of("what", {"input"}).any()) for trace in traces]
    trains = any(map(_count_updates, traces))  # the one that starts a pool, say, does not
    if ends[0] != ends[1] or (trains and not all(inputs)):
        return False
    if all(map(_trains_in_threads, traces)):
        return _made_the_same(*([trace] for trace in traces))
    (a, beside_a), (b, beside_b) = map(_select, traces)
    if compare_beside(paired, beside_a, beside_b).divergence is not None:
        return False
    records = align(paired, a, b, _COLUMNS)
    if not paired.equal(records.a, records.b).all() or not _are_read(paired, records.a):
        return False
    alone = (np.setdiff1d(a, records.a), np.setdiff1d(b, records.b))
    return all(
        bool((trace.is_one_of("what", {"output"}) & trace.is_one_of("phase", _EVALUATION))[left].all())
        for trace, left in zip(traces, alone, strict=True)
    )


def _trains_in_threads(trace: Trace) -> bool:
    return bool((trace.is_one_of("what", {"threads"}) & trace.is_one_of("name", {TRAINING})).any())


def _pools_trained_alike(a: RecordedRun, b: RecordedRun) -> bool:
    pools = [[trace for trace in run.compared if is_of_a_pool(trace)] for run in (a, b)]
    for trace in (trace for pool in pools for trace in pool):
        if find_reach(trace, None, False).why != "ended" or not trace.is_one_of("what", {"input"}).any():
            return False
    ranks = {trace.rank for pool in pools for trace in pool}
    return all(_made_the_same(*([t for t in pool if t.rank == rank] for pool in pools)) for rank in ranks)


def _made_the_same(a: Sequence[Trace], b: Sequence[Trace]) -> bool:
    """Whether all that these traces made is equal, in whatever order: of threads or processes that race.

    Not the numbers of names ("SGD#1"), which count in the order of the first use, nor the weights before the
    first step, which are written once: they show in the losses.
    """
    made: list[Counter[tuple[str, str, bytes | None]]] = [Counter(), Counter()]
    for counts, traces in zip(made, (a, b), strict=True):
        for trace in traces:
            before = trace.is_one_of("what", {"parameters"}) & trace.is_one_of("phase", {"setup"})
            rows = trace.rows(trace.is_one_of("what", _MADE | {"output"}) & ~before)
            counts.update((row.what, _get_plain_name(row), row.digest) for row in rows)
    return made[0] == made[1] and all(digest is not None for *_, digest in made[0])


def _list_rows(recorded: RecordedRun, what: str) -> Iterator[Row]:
    for trace in (*recorded.compared, *recorded.other):
        yield from trace.rows(trace.is_one_of("what", {what}))


def _get_plain_name(row: Row) -> str:
    """Of a file without the number of a process in it; small numbers stay, and so do names that have none."""
    return _PROCESS.sub("", row.name or "") if row.what == "saved" else (row.name or "").partition("#")[0]


def _are_read(paired: TracePair, positions: Ints) -> bool:
    """Whether the recorder could read all of these: two that have no digest need not be equal."""
    return bool(paired.a.digests.there[positions].all())


def _select(trace: Trace) -> tuple[Ints, Ints]:
    """Positions of what counts: of the training, and of threads beside it."""
    import numpy as np

    begun = np.arange(len(trace)) >= _find_first_loss(trace)
    wanted = (trace.is_one_of("what", _MADE | {"output"}) & begun) | trace.is_one_of("what", {"saved"})
    wanted[_find_overwritten(trace)] = False
    beside = is_beside(trace)
    return np.flatnonzero(wanted & ~beside), np.flatnonzero(wanted & beside)


def _find_overwritten(trace: Trace) -> list[int]:
    """The positions of what was saved into a file that was saved into again: each so many seconds, say.

    Not where what was in it may still be there: it was read, as a copy is made, files were renamed, or others
    of that kind were written.
    """
    import numpy as np

    kept: dict[str, list[int]] = {}
    others: set[str] = set()
    read: set[str | None] = set()
    path = None
    positions = np.flatnonzero(trace.is_one_of("what", {"written", "saved", "opened"}))
    for at, row in zip(positions.tolist(), map(trace.row, positions.tolist()), strict=True):
        if row.what == "opened":
            read.add(row.detail)
        elif row.what == "written":
            if row.name == RENAMED:
                return []
            path = row.detail if row.name == SAVED else None
            others.update([] if path is not None else [_get_suffix(row.detail)])
        elif path is not None:
            kept.setdefault(path, []).append(at)
            path = None
    gone = {path for path in kept if path not in read and _get_suffix(path) not in others}
    return [at for path in gone for at in kept[path][:-1]]


def _get_suffix(path: str | None) -> str:
    return os.path.splitext(path or "")[1]


def _find_first_loss(trace: Trace) -> int:
    first = trace.is_one_of("what", {"loss", "gradients"})
    return int(first.argmax()) if first.any() else 0
