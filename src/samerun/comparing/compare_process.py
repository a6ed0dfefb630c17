"""Compares one process of two runs: where its records diverge, if they do, and what they rest on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from samerun.comparing import operations
from samerun.comparing.alignment import Alignment, Divergence, TracePair, align
from samerun.comparing.extent import Reach, may_lack
from samerun.comparing.operations import Window
from samerun.comparing.side_threads import compare_beside, is_beside
from samerun.runs.details import parse_detail
from samerun.runs.difference import Origin, Row
from samerun.runs.reading import Trace
from samerun.runs.schema import COMPARED, PHASES

if TYPE_CHECKING:
    from samerun.runs.reading import Ints

_RECORDS = frozenset(COMPARED) - {"operation", "end"}
_COLUMNS = ("phase", "what", "name")
_COME_IN = frozenset({"batch", "input"})  # data that can come from outside of torch's operations


@dataclass(frozen=True)
class ProcessComparison:
    """One process of two runs; `divergence` is where they differ first, None where they do not."""

    paired: TracePair
    divergence: Divergence | None = None
    ended: bool = False  # at the divergence one of them ends, or both do, differently
    origin: Origin | None = None
    counts: Counter[str] = field(default_factory=Counter)  # records compared, by what they are
    steps: int = 0  # optimizer steps compared
    operations: bool = False  # whether operations were compared too
    window: Window | None = None  # the steps whose operations both hold
    limit: int | None = None  # only steps below it were compared
    unknown: str | None = None  # why it cannot be told whether the process did the same in both
    notes: tuple[str, ...] = ()
    beyond: Divergence | None = None  # where one run ended: what the other has there
    shows: Divergence | None = None  # of operations: where the records of steps diverge, after them

    def seen(self, divergence: Divergence | None = None) -> tuple[Trace, int]:
        """The trace that has the record of the divergence, a's where both have it, and its position there."""
        return _find_record(self.paired, divergence or self.divergence or Divergence(0, 0, (0, 0)))

    def instead(self) -> Row | None:
        """Where only one run has the record: the one at which the other run is then."""
        if self.divergence is None or self.divergence.instead is None:
            return None
        return (self.paired.a if self.divergence.a is None else self.paired.b).row(self.divergence.instead)

    def position(self) -> tuple[int, int]:
        """(step, phase in the order of a step) of the divergence."""
        trace, at = self.seen()
        phase = trace.cell("phase", at)
        return int(trace.steps[at]), PHASES.index(phase) if phase in PHASES else len(PHASES)


def compare_process(
    paired: TracePair,
    reaches: tuple[Reach, Reach],
    window: Window | None,
    steps: int | None,
    left: tuple[bool, bool] = (False, False),
    *,
    begun: bool = False,
) -> ProcessComparison:
    """Compare the records of one process, below `steps` where it is given.

    `reaches` say how far each of the two goes, `window` which steps both hold at tier ops. What only one
    run did before its training is passed over where it `left` files there for the other one; all that comes
    before it, where the training has to have `begun`.
    """
    (a, beside_a), (b, beside_b) = _select_records(paired.a, steps), _select_records(paired.b, steps)
    begin = 0, 0
    if begun:
        begin = find_training(paired.a), find_training(paired.b)
        a, b = (here[here >= at] for here, at in zip((a, b), begin, strict=True))
    elif any(left):
        begin = _begins(paired.a), _begins(paired.b)
        a, b = _drop_left_files(paired, a, b, left, begin)
    records = align(paired, a, b, _COLUMNS)
    done = None if window is None else operations.compare_operations(paired, window, steps, begin)
    result = _compare_records(paired, records, reaches)
    if done is not None and window is not None:
        result = _add_operations(result, done, reaches, window)
    # A run that was broken off may lack what a thread would have done later.
    whole = all(reach.why == "ended" for reach in reaches)
    beside = compare_beside(paired, beside_a, beside_b) if whole else None
    if beside is not None and result.divergence is None and result.unknown is None:
        result = replace(result, divergence=beside.divergence)
    notes = list(result.notes)
    if beside is None and len(beside_a) + len(beside_b):
        notes.append(
            f"{paired.a.stem}: what threads beside the training saved or evaluated is not compared, since "
            "not both runs are compared to their end"
        )
    if result.divergence is None and (unread := _find_unread(paired.a, records.a)):
        notes.append(unread)
    if records.moved and result.divergence is None:
        notes.append(f"{paired.a.stem}: {records.moved} records are equal, but in another order")
    if paired.reordered:
        names = " and ".join(paired.reordered)
        said = f"{paired.a.stem}: run B has the tensors of {names} in another order"
        notes.append(f"{said}: they are compared by name")
        result = _leave_undecided(result, said, paired.unordered_from, steps)
    return replace(
        result,
        counts=_count_pairs(paired, [item for item in (records, done, beside) if item is not None]),
        steps=_count_steps(paired.a, records.a),
        operations=done is not None,
        window=window,
        limit=steps,
        notes=tuple(notes),
    )


def _compare_records(
    paired: TracePair, records: Alignment, reaches: tuple[Reach, Reach]
) -> ProcessComparison:
    """What the records without operations say."""
    divergence, short = records.divergence, records.short
    if divergence is not None and short is None:
        return ProcessComparison(paired, divergence)
    cut = [run for run, reach in zip("AB", reaches, strict=True) if reach.why == "cut"]
    if divergence is not None:
        at, other = reaches if short == "a" else reaches[::-1]
        if may_lack(at, other):
            return ProcessComparison(paired)
        if at.end is not None:
            end = Divergence(
                at.end if short == "a" else None, at.end if short == "b" else None, divergence.place
            )
            return ProcessComparison(paired, end, ended=True, beyond=divergence)
        if at.why != "cut":
            return ProcessComparison(paired, divergence)
    if cut:
        return ProcessComparison(paired, unknown=_cut(paired, cut))
    a, b = reaches[0].end, reaches[1].end
    if a is not None and b is not None and not _end_alike(paired, a, b):
        return ProcessComparison(paired, Divergence(a, b, (len(paired.a), 1)), ended=True)
    return ProcessComparison(paired)


def _add_operations(
    result: ProcessComparison, done: Alignment, reaches: tuple[Reach, Reach], window: Window
) -> ProcessComparison:
    """The divergence of the operations instead, where it comes first."""
    found, first, paired = done.divergence, result.divergence, result.paired
    if found is None:
        return result
    if done.short is not None:
        at, other = reaches if done.short == "a" else reaches[::-1]
        if at.why == "cut" or may_lack(at, other):
            return result
    if first is not None and _is_before(first, found):
        return result
    origin = operations.find_origin(paired, found, window)
    if first is None:
        return replace(result, divergence=found, ended=False, beyond=None, origin=origin, unknown=None)
    if origin is not None and not origin.inputs_equal and _is_explained_by_data(paired, first, found):
        return replace(result, origin=origin)
    note = f"first visible in the step records as: {_describe_record(paired, first)}"
    return replace(
        result,
        divergence=found,
        ended=False,
        beyond=None,
        origin=origin,
        notes=(*result.notes, note),
        shows=first,
    )


def _leave_undecided(
    result: ProcessComparison, said: str, unordered_from: int | None, steps: int | None
) -> ProcessComparison:
    """Without a verdict, where tensors that came in another order were not compared, and nothing differs."""
    is_decided = result.divergence is not None or result.unknown is not None
    if is_decided or unordered_from is None or (steps is not None and unordered_from >= steps):
        return result
    reason = (
        f"{said}, and from step {unordered_from} on not every record has them one by one: compare shorter "
        f"runs (samerun check --steps {unordered_from} in each state of the code)"
    )
    return replace(result, unknown=reason)


def _is_before(one: Divergence, other: Divergence) -> bool:
    """Whether one comes first: in the order of a, or of b where a lacks one of them."""
    if (one.a is None or other.a is None) and one.b is not None and other.b is not None:
        return one.b < other.b
    return one.place < other.place


def _is_explained_by_data(paired: TracePair, first: Divergence, found: Divergence) -> bool:
    """Whether data that differs already explains an operation of the same step whose inputs differ.

    What the setup does precedes all data, though its step is the first one's.
    """
    trace, at = _find_record(paired, first)
    other, position = _find_record(paired, found)
    if trace.cell("phase", at) != "setup" and other.cell("phase", position) == "setup":
        return False
    return trace.cell("what", at) in _COME_IN and trace.steps[at] == other.steps[position]


def _find_record(paired: TracePair, divergence: Divergence) -> tuple[Trace, int]:
    if divergence.a is not None:
        return paired.a, divergence.a
    return paired.b, divergence.b or 0


def _describe_record(paired: TracePair, divergence: Divergence) -> str:
    trace, at = _find_record(paired, divergence)
    row = trace.row(at)
    return f"{row.what} {row.name or ''}".strip() + f", step {row.step}"


def _end_alike(paired: TracePair, a: int, b: int) -> bool:
    one, other = paired.a.row(a), paired.b.row(b)
    return (one.name, one.digest) == (other.name, other.digest)


def _cut(paired: TracePair, cut: list[str]) -> str:
    """Why records that are equal as far as they go do not say that the runs are the same."""
    which = "both runs" if len(cut) == 2 else f"run {cut[0]}"
    return (
        f"the records of {paired.a.stem} stop before the end of the process in {which} (it was killed, or it "
        "left by os._exit); as far as they go, they are equal"
    )


def _select_records(trace: Trace, steps: int | None) -> tuple[Ints, Ints]:
    """Positions of the records to compare: those of the training, those of threads beside it."""
    import numpy as np

    wanted = trace.is_one_of("what", _RECORDS)
    if steps is not None:
        wanted &= trace.steps < steps
    beside = is_beside(trace)
    return np.flatnonzero(wanted & ~beside), np.flatnonzero(wanted & beside)


def find_training(trace: Trace) -> int:
    """Where what leads to the first loss begins, with the weights that it is made of: 0 where nothing does.

    That is after what a model gave last before the batch, or before the input where no loader gives batches:
    a model that is called to count its operations, or to look at an image, ends with an output. So does a
    transform that is a module, but in the loading of data.
    """
    import numpy as np

    end = int(trace.is_one_of("what", {"loss", "gradients"}).argmax())  # 0 where there is none
    batches = np.flatnonzero(trace.is_one_of("what", {"batch"})[:end])
    came_in = int(batches[-1]) if len(batches) else _find_input(trace, end)
    given = trace.is_one_of("what", {"output"}) & ~trace.is_one_of("phase", {"data"})
    outputs = np.flatnonzero(given[:came_in])
    return int(outputs[-1]) + 1 if len(outputs) else 0


def _find_input(trace: Trace, end: int) -> int:
    """Where what comes into the modules begins that lead to the loss at `end`, a loss that is a module too.

    That is after the optimizers are made; without any, each module is called once for the loss, and what was
    called before that again was called for something else.
    """
    import numpy as np

    optimizers = np.flatnonzero(trace.is_one_of("what", {"trains"})[:end])
    if len(optimizers):
        return int(optimizers[-1])
    came = trace.is_one_of("what", {"input"}) & ~trace.is_one_of("phase", {"evaluation"})
    called: set[object] = set()
    first = 0
    for at in reversed(np.flatnonzero(came[:end]).tolist()):
        if trace.cell("name", at) in called:
            break
        called.add(trace.cell("name", at))
        first = at
    return first


def _begins(trace: Trace) -> int:
    """Where the first record of a training step is: what enters a model with gradients, a loss, gradients."""
    first = trace.is_one_of("what", {"input"}) & trace.is_one_of("phase", {"data"})
    first |= trace.is_one_of("what", {"loss", "gradients"})
    return int(first.argmax()) if first.any() else 0


def _drop_left_files(
    paired: TracePair, a: Ints, b: Ints, left: tuple[bool, bool], begin: tuple[int, int]
) -> tuple[Ints, Ints]:
    """The records at these positions, without what only a run that `left` files has before its training.

    Neither run needs to have what the setup was found to leave: a model that is called in it ends it.
    """
    import numpy as np

    traces = paired.a, paired.b
    early = [here[here < at] for here, at in zip((a, b), begin, strict=True)]
    both = align(paired, early[0], early[1], _COLUMNS)
    kept = []
    for trace, here, there, matched, did in zip(traces, (a, b), early, (both.a, both.b), left, strict=True):
        alone = np.setdiff1d(there, matched)
        if not did:
            found = trace.is_one_of("what", {"parameters"}) & trace.is_one_of("phase", {"setup"})
            alone = alone[found[alone]]
        kept.append(here[~np.isin(here, alone)])
    return kept[0], kept[1]


def _count_pairs(paired: TracePair, aligned: list[Alignment]) -> Counter[str]:
    """How many pairs of records have digests that could be held against each other."""
    import numpy as np

    counts: Counter[str] = Counter()
    words, codes = paired.a.words("what"), paired.a.codes("what")
    for item in aligned:
        there = paired.a.digests.there[item.a] & paired.b.digests.there[item.b]
        found = np.bincount(codes[item.a][there], minlength=len(words)).tolist()
        counts.update({word: count for word, count in zip(words, found, strict=True) if count})
    return counts


def _find_unread(trace: Trace, records: Ints) -> str | None:
    """What the recorder could not read, so that nothing of it was compared; None when it could read all."""
    import numpy as np

    mask = np.zeros(len(trace), dtype=bool)
    mask[records] = ~trace.digests.there[records]
    rows = [row for row in trace.rows(mask) if row.detail and "without_bytes" in row.detail]
    if not rows:
        return None
    first = rows[0]
    found = parse_detail(first.detail, dict[str, list[str]]) or {}
    kinds = ", ".join(found.get("without_bytes", ["unknown"]))
    return (
        f"{trace.stem}: {len(rows)} records are not compared, since what they hold has no bytes that can be "
        f"read; the first is the {first.what} of {first.name} in step {first.step} ({kinds})"
    )


def _count_steps(trace: Trace, records: Ints) -> int:
    """How many optimizer steps these records cover."""
    made = records[trace.is_one_of("phase", {"optimizer"})[records]]
    return int(trace.steps[made].max(initial=-1)) + 1
