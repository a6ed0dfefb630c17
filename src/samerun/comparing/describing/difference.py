"""Makes the first difference, with all that is known around it, from where two processes diverge."""

from __future__ import annotations

from samerun.comparing.compare_process import ProcessComparison
from samerun.comparing.context import Samples, build_side, find_generators, find_samples
from samerun.comparing.describing.later_differences import find_further
from samerun.comparing.describing.only_one_has import describe_only
from samerun.comparing.external_writes import find_gap
from samerun.comparing.helper_programs import align
from samerun.comparing.pairing import RecordedRun
from samerun.runs.details import parse_detail
from samerun.runs.difference import Difference, Kind, LaterDifference
from samerun.runs.reading import Trace
from samerun.runs.schema import COMPARED, PHASES

_PART = 16  # bytes of a tensor's digest among the parts of its group
_SHOWN = 5


def describe(found: ProcessComparison, runs: tuple[RecordedRun, RecordedRun]) -> tuple[Difference, list[str]]:
    """(the first difference, notes for people); `found` has a divergence."""
    paired, divergence = found.paired, found.divergence
    assert divergence is not None
    trace, at = found.seen()
    row = trace.row(at)
    around = find_samples(paired, divergence, row.step)
    # What was drawn between a step and the evaluation after it is counted when the next step is over.
    counted = row.step + (row.phase == "evaluation")
    generators = find_generators(paired, divergence, counted)
    name: str | None = row.name
    notes: list[str] = []
    if divergence.a is not None and divergence.b is not None:
        name, notes = _name(paired.a, divergence.a, paired.b, divergence.b)
        if row.what == "end":
            notes.append(f"run A {row.name}, run B {paired.b.row(divergence.b).name}")
    elif not found.ended or found.beyond is not None:
        notes += describe_only(found, runs)
    sides = [
        build_side(
            recorded.run,
            recorded.of_rank(own.rank, first=own),
            row.step,
            before,
            counted,
            recorded.of_others(own.rank),
        )
        for recorded, own, before in zip(
            runs, (paired.a, paired.b), (divergence.at_a(), divergence.at_b()), strict=True
        )
    ]
    sides[1] = align(*sides)
    more: tuple[LaterDifference, ...] = ()
    propagated = 0
    if found.window is not None and not found.ended:
        more, propagated = find_further(paired, divergence, found.window, found.limit)
    difference = Difference(
        step=row.step,
        phase=row.phase if row.phase in PHASES else "end",
        what=row.what,
        kind=_classify(found, row.what, around),
        name=name,
        module=row.module,
        op=row.name if row.what == "operation" else None,
        call_site=row.call_site or (found.origin.call_site if found.origin is not None else None),
        site_in="b" if divergence.a is None else "a",
        other_site=_find_other_site(found),
        rank=trace.rank,
        process=trace.stem,
        place=divergence.at_a(),
        shows=_shows(found),
        origin=found.origin,
        gap=None if _is_explained(found) else find_gap(paired, divergence.a, divergence.b),
        run=("a" if divergence.b is None else "b") if divergence.flow and not found.ended else None,
        instead=found.instead(),
        further=more,
        propagated=propagated,
        indices_equal=around.indices_equal,
        same_samples=around.same_samples,
        in_workers=around.in_workers,
        rng_first=generators.first,
        drawn=generators.drawn,
        agreed=generators.agreed,
        a=sides[0],
        b=sides[1],
    )
    return difference, notes


def _find_other_site(found: ProcessComparison) -> str | None:
    """Run B's line, where both runs have the record."""
    at = found.divergence
    if at is None or at.a is None or at.b is None:
        return None
    return found.paired.b.row(at.b).call_site


def _shows(found: ProcessComparison) -> tuple[int, str] | None:
    if found.shows is None:
        return None
    trace, at = found.seen(found.shows)
    return int(trace.steps[at]), str(trace.cell("phase", at))


def _is_explained(found: ProcessComparison) -> bool:
    """Whether the record has no gap to explain: its inputs are equal, or only one run has it."""
    assert found.divergence is not None
    return found.divergence.flow or (found.origin is not None and found.origin.inputs_equal)


def _classify(found: ProcessComparison, what: str, around: Samples) -> Kind:
    if found.ended:
        return "ended"
    if found.divergence is not None and found.divergence.flow:
        return "flow"
    return "order" if what == "batch" and around.reordered else "value"


def _name(a: Trace, at_a: int, b: Trace, at_b: int) -> tuple[str | None, list[str]]:
    """(the first tensor that differs in a group, or the record's own name; notes on the others)."""
    label: str | None = a.cell("name", at_a)
    parts_a, parts_b = (_split_parts(trace, at) for trace, at in ((a, at_a), (b, at_b)))
    if not parts_a or not parts_b:
        return label, []
    what = a.cell("what", at_a)
    names, names_b = (_find_names(trace, at, what, label) for trace, at in ((a, at_a), (b, at_b)))
    notes = []
    if names != names_b and sorted(names) == sorted(names_b) and len(names) == len(parts_a) == len(parts_b):
        by_name = dict(zip(names_b, parts_b, strict=True))
        parts_b = [by_name[name] for name in names]  # modules can be called in another order
    shared = min(len(parts_a), len(parts_b))
    differing = [n for n in range(shared) if parts_a[n] != parts_b[n]]
    if len(parts_a) != len(parts_b):
        notes.append(
            f"{what} {label or ''} holds {len(parts_a)} tensors in run A and {len(parts_b)} in run B"
        )
        longer = names if len(parts_a) > len(parts_b) else names_b
        names = names[:shared] + longer[shared:]
        differing = differing or [shared]
    if not differing:
        return label, notes
    called = [names[n] if n < len(names) else f"{label or what}[{n}]" for n in differing]
    if len(called) > 1:
        more = ", …" if len(called) > _SHOWN else ""
        notes.append(
            f"{len(called)} of {shared} tensors of {what} differ: {', '.join(called[:_SHOWN])}{more}"
        )
    return called[0], notes


def _split_parts(trace: Trace, at: int) -> list[bytes]:
    whole: bytes = trace.cell("parts", at) or b""
    return [whole[start : start + _PART] for start in range(0, len(whole), _PART)]


def _find_names(trace: Trace, at: int, what: str, label: str | None) -> list[str]:
    """The names of the group's tensors: as last written before the record, else as first written after it."""
    import numpy as np

    groups = {f"{what}:{label}", label or ""}
    rows = np.flatnonzero(trace.is_one_of("what", {"names"}) & trace.is_one_of("name", groups))
    last = max(int(np.searchsorted(rows, at)) - 1, 0)
    return (parse_detail(trace.cell("detail", int(rows[last])), list[str]) or []) if len(rows) else []


def describe_lone(trace: Trace, runs: tuple[RecordedRun, RecordedRun]) -> Difference:
    """The difference that a process makes which only one run has: its first record that decides."""
    import numpy as np

    at = int(np.flatnonzero(trace.is_one_of("what", set(COMPARED)))[0])
    row = trace.row(at)
    sides = [
        build_side(run.run, run.of_rank(trace.rank), row.step, others=run.of_others(trace.rank))
        for run in runs
    ]
    sides[1] = align(*sides)
    mine = any(trace is own for own in runs[0].compared)
    return Difference(
        step=row.step,
        phase=row.phase if row.phase in PHASES else "end",
        what=row.what,
        kind="flow",
        name=row.name,
        module=row.module,
        op=row.name if row.what == "operation" else None,
        call_site=row.call_site,
        site_in="a" if mine else "b",
        rank=trace.rank,
        process=trace.stem,
        a=sides[0],
        b=sides[1],
    )
