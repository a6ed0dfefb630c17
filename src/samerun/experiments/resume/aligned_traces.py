"""The whole run from a step on, and a resumed process moved there, so that they can be compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from samerun.comparing.side_threads import is_beside
from samerun.experiments.resume.epoch_starts import EpochStarts, Start
from samerun.experiments.tensor_digests import read_named
from samerun.runs import columns
from samerun.runs.reading import Trace
from samerun.runs.schema import COMPARED

if TYPE_CHECKING:
    import pyarrow as pa

    from samerun.runs.reading import Bools, Ints

_BEFORE = frozenset({"indices", "rng", "draw", "seed"})  # would mislead when older than the start


@dataclass(frozen=True)
class AlignedTraces:
    """Two traces whose steps are counted alike, from where the resumed process began.

    `left_out`: how many losses of the first step the whole run had before that, where the checkpoint was
    written in the middle of a step.
    """

    whole: Trace
    resumed: Trace
    step: int
    left_out: int = 0


def align_continued(whole: Trace, resumed: Trace, step: int) -> AlignedTraces | None:
    """`whole` from `step` on, and `resumed` from its first step on, as that one.

    None when one of them has nothing there.
    """
    a, b = EpochStarts(whole).of(step), EpochStarts(resumed).of(0)
    if a is None or b is None:
        return None
    if a.batch is None or b.batch is None:
        a, b = replace(a, batch=None, indices=None), replace(b, batch=None, indices=None)
    start, left_out = _find_in_step(whole, a, resumed, b, step)
    one, other = _drop_lone_buffers(
        _cut_from(whole, start, a.use, step, moved=0), _cut_from(resumed, b.start, b.use, step, moved=step)
    )
    return AlignedTraces(_drop_late_saves(one, other, step), other, step, left_out)


def _drop_late_saves(whole: Trace, resumed: Trace, step: int) -> Trace:
    """`whole` without what a thread beside the training was saving while the steps compared here began.

    The checkpoint gone on from may be written as late as that, and is not written again. A later one, where
    no save that both have follows, is missing.
    """
    one, other = _find_saves_beside(whole), _find_saves_beside(resumed)
    theirs = {resumed.cell("digest", at) for at in other}
    alone = [at for at in one if whole.cell("digest", at) not in theirs]
    if not alone or alone[0] != one[0]:
        return whole
    first = int(whole.steps[one[0]])
    late = [at for at in alone if whole.steps[at] == first]
    is_early = first <= step + 1
    return _drop_rows(whole, late) if len(alone) < len(one) or is_early else whole


def _find_saves_beside(trace: Trace) -> list[int]:
    import numpy as np

    found: list[int] = np.flatnonzero(is_beside(trace) & trace.is_one_of("what", {"saved"})).tolist()
    return found


def _drop_lone_buffers(whole: Trace, resumed: Trace) -> tuple[Trace, Trace]:
    """Both without records of buffers that say only which modules had been called so far.

    After a step the buffers of all modules called until then are recorded, in the order of their first calls.
    One that is called now and then, such as averaged weights in an evaluation, the resumed process may not
    have met yet, or may have met first.
    """
    one, other = _find_buffers(whole), _find_buffers(resumed)
    lone = [*(one.keys() ^ other.keys())]
    for at in one.keys() & other.keys():
        a, b = read_named(whole, one[at]), read_named(resumed, other[at])
        # Where a long run kept no single digests, those of the group are all there is to compare.
        if a and b and list(a) != list(b) and all(a[name] == b[name] for name in a.keys() & b.keys()):
            lone.append(at)
    rows = ([of[at] for at in lone if at in of] for of in (one, other))
    without = [_drop_rows(trace, some) for trace, some in zip((whole, resumed), rows, strict=True)]
    return without[0], without[1]


def _find_buffers(trace: Trace) -> dict[tuple[int, int], int]:
    """Where the records of buffers after a step are: by the step, and their number in it."""
    import numpy as np

    found: dict[tuple[int, int], int] = {}
    last, number = -1, 0
    rows = trace.is_one_of("what", {"buffers"}) & trace.is_one_of("phase", {"optimizer"})
    for at in np.flatnonzero(rows).tolist():
        step = int(trace.steps[at])
        last, number = step, (number + 1 if step == last else 0)
        found[step, number] = at
    return found


def _drop_rows(trace: Trace, rows: list[int]) -> Trace:
    import numpy as np

    if not rows:
        return trace
    kept = np.ones(len(trace), dtype=bool)
    kept[rows] = False
    table = trace.table.filter(columns.build_truths(kept)).unify_dictionaries().combine_chunks()
    return Trace(trace.path, trace.meta, table, trace.complete)


def _find_in_step(whole: Trace, a: Start, resumed: Trace, b: Start, step: int) -> tuple[int, int]:
    """(where in `whole` the resumed process went on, the losses of the step before that).

    That is later in the step than its beginning when the resumed process's first data is found there.
    """
    import numpy as np

    if b.batch is not None:
        first, what = b.batch, "batch"
    else:
        first, what = b.use, resumed.cell("what", b.use)
    digests = whole.digests[0]
    same = whole.is_one_of("what", {what}) & ~whole.is_one_of("phase", {"evaluation"})
    same &= whole.steps == step
    same &= (digests == resumed.digests[0][first]).all(axis=1)
    found = np.flatnonzero(same)
    found = found[found >= a.start]
    if not len(found) or what not in ("batch", "input"):
        return a.start, 0
    at = int(found[0])
    if b.indices is not None and at > 0 and whole.cell("what", at - 1) == "indices":
        at -= 1
    losses = whole.is_one_of("what", {"loss"})[a.start : at]
    return (at, int(losses.sum())) if losses.any() else (a.start, 0)


def _cut_from(trace: Trace, start: int, use: int, step: int, moved: int) -> Trace:
    """The records that decide from `start` on, and all the evidence; steps are `moved` on."""
    import numpy as np

    at = np.arange(len(trace))
    decides = trace.is_one_of("what", set(COMPARED))
    wanted = decides & (at >= start)
    # Another model can be met first after a resume: the weights at that moment are no record of a step.
    wanted &= ~trace.is_one_of("phase", {"setup"})
    # Whether the checkpoint gone on from is written again does not matter.
    wanted &= ~(trace.is_one_of("what", {"saved"}) & (at < use))
    states = _mark_latest_states(trace, start)
    wanted |= ~decides & (~trace.is_one_of("what", _BEFORE) | (at >= start) | states)
    steps = trace.steps + moved
    steps[states] = step
    ends = wanted & trace.is_one_of("what", {"end"})
    table = trace.table.set_column(0, "step", columns.build_numbers(steps.astype("int32")))
    digest = _end_digests(trace, ends, moved)
    if digest is not None:
        number = table.schema.get_field_index("digest")
        table = table.set_column(number, table.schema.field(number), digest)
    table = table.filter(columns.build_truths(wanted)).unify_dictionaries().combine_chunks()
    return Trace(trace.path, trace.meta, table, trace.complete)


def _mark_latest_states(trace: Trace, start: int) -> Bools:
    """bool[n]: the last record of each generator's state before `start`."""
    import numpy as np

    latest: dict[int, int] = {}
    rows: Ints = np.flatnonzero(trace.is_one_of("what", {"rng"})[:start])
    for at, name in zip(rows.tolist(), trace.codes("name")[rows].tolist(), strict=True):
        latest[name] = at
    found = np.zeros(len(trace), dtype=bool)
    found[list(latest.values())] = True
    return found


def _end_digests(trace: Trace, ends: Bools, moved: int) -> pa.Array | None:
    """The digests, with that of an end made of the steps as they are counted here; None without an end."""
    import numpy as np

    found = np.flatnonzero(ends)
    if not len(found):
        return None
    words, there = (column.copy() for column in trace.digests)
    words[found, 0] = trace.steps[found] + moved
    words[found, 1] = 0
    there[found] = True
    values = [row.tobytes() if known else None for row, known in zip(words, there.tolist(), strict=True)]
    return columns.build_digests(values)
