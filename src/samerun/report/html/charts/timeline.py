"""Two runs as a strip of steps × phases: what was equal, what was not, what only one of them has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from samerun.comparing.alignment import TracePair, align
from samerun.comparing.pairing import RecordedRun, pair
from samerun.runs.schema import COMPARED, PHASES

if TYPE_CHECKING:
    from samerun.runs.reading import Ints, Trace

_RECORDS = frozenset(COMPARED) - {"operation"}  # operations are there in a window of steps alone
_COLUMNS = ("phase", "what", "name")
_MOST = 20_000  # segments
_CELLS = 2_000  # on the whole axis, when there are more
_NEAR = 500  # steps around a mark that keep a cell of their own

_PHASE, _FIRST, _LAST, _RECORDS_AT, _DIFFERING, _LONE = range(6)  # the columns of cells

Mark = tuple[int, str]  # a step and a phase
Segment = tuple[int, ...]  # first step, last step, records, of them differing, of them in one run alone


@dataclass(frozen=True)
class Strip:
    """The strip of two runs."""

    segments: Mapping[str, tuple[Segment, ...]]  # by phase, in the order of steps
    coarse: bool  # a long training: the counts of a segment are of all its steps, else of each
    steps: tuple[int, int]  # the first and the last
    records: int
    differing: int  # records that are not equal, or in one run alone
    marks: tuple[Mark, ...]

    @property
    def phases(self) -> tuple[str, ...]:
        """Those that have a record or a mark, in the order of a step."""
        marked = {phase for _, phase in self.marks}
        return tuple(phase for phase in PHASES if phase in self.segments or phase in marked)

    def table(self) -> list[tuple[str, str, int, int]]:
        """For each phase: the first step that differs, how many do, and how many there are."""
        rows = []
        for phase, segments in self.segments.items():
            unequal = [segment for segment in segments if segment[3] or segment[4]]
            first = str(unequal[0][0]) if unequal else "none"
            rows.append((phase, first, _count_steps(unequal), _count_steps(segments)))
        return rows

    def plot(self) -> dict[str, Any]:
        """Plain values."""
        phases = self.phases
        return {
            "phases": phases,
            "segments": [self.segments.get(phase, ()) for phase in phases],
            "coarse": self.coarse,
            "first": self.steps[0],
            "last": self.steps[1],
            "marks": [(step, phases.index(phase)) for step, phase in self.marks],
        }


def _count_steps(segments: Sequence[Segment]) -> int:
    return sum(segment[1] - segment[0] + 1 for segment in segments)


def strip(a: RecordedRun, b: RecordedRun, marks: Sequence[Mark]) -> Strip | None:
    """The strip of two runs, all their processes together; None when they share no record.

    Steps around the marks keep a cell of their own in a long training.
    """
    import numpy as np

    pairs, _, _ = pair(a.compared, b.compared)
    found = [_list_cells(*both) for both in pairs]
    if not sum(map(len, found)):
        return None
    cells = _sum_cells(np.concatenate(found).astype(np.int64))
    steps = int(cells[:, _FIRST].min()), int(cells[:, _LAST].max())
    known = tuple(mark for mark in marks if steps[0] <= mark[0] <= steps[1] and mark[1] in PHASES)
    segments = _build_segments(cells, merge=True)
    coarse = sum(map(len, segments.values())) > _MOST
    if coarse:
        segments = _build_segments(_coarsen(cells, known), merge=False)
    records, differing, lone = cells[:, _RECORDS_AT:].sum(axis=0).tolist()
    return Strip(segments, coarse, steps, records, differing + lone, known)


def _list_cells(a: Trace, b: Trace) -> Ints:
    """int64[n, 6]: one cell for each record."""
    import numpy as np

    paired = TracePair(a, b)
    at_a, at_b = _find_positions(a), _find_positions(b)
    aligned = align(paired, at_a, at_b, _COLUMNS)
    unequal = (~paired.equal(aligned.a, aligned.b)).astype(np.int64)
    return np.concatenate(
        [
            _build_rows(a, aligned.a, unequal, 0),
            _build_rows(a, np.setdiff1d(at_a, aligned.a), 0, 1),
            _build_rows(b, np.setdiff1d(at_b, aligned.b), 0, 1),
        ]
    )


def _find_positions(trace: Trace) -> Ints:
    import numpy as np

    return np.flatnonzero(trace.is_one_of("what", _RECORDS) & trace.is_one_of("phase", set(PHASES)))


def _build_rows(trace: Trace, at: Ints, differing: Ints | int, lone: int) -> Ints:
    import numpy as np

    phases = [PHASES.index(word) if word in PHASES else -1 for word in trace.words("phase")]
    rows: Ints = np.empty((len(at), 6), dtype=np.int64)
    rows[:, _PHASE] = np.array([*phases, -1], dtype=np.int64)[trace.codes("phase")[at]]
    rows[:, _FIRST] = rows[:, _LAST] = trace.steps[at]
    rows[:, _RECORDS_AT], rows[:, _DIFFERING], rows[:, _LONE] = 1, differing, lone
    return rows


def _sum_cells(rows: Ints) -> Ints:
    """One cell for each phase and first step, in that order."""
    import numpy as np

    rows = rows[np.lexsort((rows[:, _FIRST], rows[:, _PHASE]))]
    new = np.r_[True, (np.diff(rows[:, : _FIRST + 1], axis=0) != 0).any(axis=1)]
    starts = np.flatnonzero(new)
    cells: Ints = np.add.reduceat(rows, starts, axis=0)
    cells[:, : _LAST + 1] = rows[starts, : _LAST + 1]
    return cells


def _coarsen(cells: Ints, marks: Sequence[Mark]) -> Ints:
    """The cells of a long training: each of several steps, but near the marks."""
    import numpy as np

    steps = cells[:, _FIRST]
    first, last = int(steps.min()), int(steps.max())
    wide = -(-(last - first + 1) // _CELLS)
    near = np.zeros(len(steps), dtype=bool)
    for step, _ in marks:
        near |= np.abs(steps - step) <= _NEAR
    cells = cells.copy()
    cells[:, _FIRST] = np.where(near, steps, steps // wide * wide)
    cells[:, _LAST] = np.where(near, steps, steps // wide * wide + wide - 1)
    return _sum_cells(cells)


def _build_segments(cells: Ints, *, merge: bool) -> dict[str, tuple[Segment, ...]]:
    """By phase; `merge` makes one segment of neighbouring steps with equal counts."""
    found: dict[str, list[Segment]] = {}
    for phase, first, last, *counts in cells.tolist():
        of_phase = found.setdefault(PHASES[phase], [])
        if of_phase and merge:
            before = of_phase[-1]
            if before[1] == first - 1 and before[2:] == tuple(counts):
                of_phase[-1] = (before[0], last, *counts)
                continue
        of_phase.append((first, last, *counts))
    return {name: tuple(segments) for name, segments in found.items()}
