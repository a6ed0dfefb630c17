"""Tier ops: the first operation at which two traces diverge, and whether it is the origin."""

from __future__ import annotations

import math
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from samerun.comparing.alignment import Alignment, Divergence, TracePair, count_common_prefix
from samerun.comparing.context import OWN
from samerun.runs.difference import Origin
from samerun.runs.reading import Trace
from samerun.runs.schema import DRAWS, LOADER, NEVER_WRITTEN, UNINITIALIZED
from samerun.runs.store import Run

if TYPE_CHECKING:
    from samerun.runs.reading import Ints

COLUMNS = ("phase", "name", "module")
# They hand a number to Python, mostly to be printed: what it decides shows in what comes next.
_READS = frozenset({"aten._local_scalar_dense.default", "aten.is_nonzero.default", "aten.equal.default"})
_NEAR = 2  # operations that must be equal, one apart, to tell an inserted one that looks like its neighbour
_NEIGHBOURS = 400  # operations on each side that are aligned to tell an inserted one from a missing one


class Window(NamedTuple):
    """Steps at tier ops; -1 is the setup."""

    first: float
    last: float  # inclusive


class _Stretch(NamedTuple):
    """Some operations of a trace, one after the other."""

    positions: Ints
    keys: Ints


def find_window(run: Run, trace: Trace) -> Window | None:
    """The steps that the trace holds at tier ops, None when it holds none."""
    plan = run.manifest.plan
    if plan.get("tier", run.manifest.tier) != "ops":
        return None
    match plan.get("window"):
        case [int(first), int(last)]:
            return Window(first, last)
    return Window(-1, math.inf)


def intersect(a: Window | None, b: Window | None) -> Window | None:
    """The steps that are in both windows."""
    if a is None or b is None:
        return None
    both = Window(max(a.first, b.first), min(a.last, b.last))
    return both if both.first <= both.last else None


def compare_operations(
    paired: TracePair, both: Window, steps: int | None, begin: tuple[int, int] = (0, 0)
) -> Alignment:
    """Align the operations of the steps in the window `both`, and below `steps`, up to where they diverge.

    `begin` are the positions in the two traces before which none counts.
    Those that a DataLoader runs are left out: their order moves with its workers' timing. What an operation
    leaves uninitialised is not compared. Where only one run reads a number of a tensor, that alone is none.
    """
    a, b = find_positions(paired.a, both, steps), find_positions(paired.b, both, steps)
    a, b = a[a >= begin[0]], b[b >= begin[1]]
    found = _align(paired, a, b)
    if found.divergence is None or not found.divergence.flow or not _is_read(paired, found.divergence):
        return found
    a, b = (here[~trace.is_one_of("name", _READS)[here]] for trace, here in ((paired.a, a), (paired.b, b)))
    return _align(paired, a, b)


def _is_read(paired: TracePair, divergence: Divergence) -> bool:
    """Whether the operation that only one run has reads a number of a tensor."""
    return any(trace.cell("name", at) in _READS for trace, at in _list_sides(paired, divergence))


def _align(paired: TracePair, a: Ints, b: Ints) -> Alignment:
    """Align the operations at these positions."""
    n = min(len(a), len(b))
    never = (paired.a.flags[a[:n]] & paired.b.flags[b[:n]] & NEVER_WRITTEN) != 0
    keys_a, keys_b = paired.keys(a, b, COLUMNS)
    prefix = count_common_prefix(keys_a, keys_b, paired.equal(a[:n], b[:n]) | never)
    if prefix == len(a) == len(b):
        return Alignment(a, b, None)
    before_a, before_b = a[:prefix], b[:prefix]
    if prefix == len(a):
        place = int(a[-1]) + 1 if prefix else 0
        return Alignment(before_a, before_b, Divergence(None, int(b[prefix]), (place, 0)), "a")
    at_a = int(a[prefix])
    if prefix == len(b):
        return Alignment(before_a, before_b, Divergence(at_a, None, (at_a, 1)), "b")
    at_b = int(b[prefix])
    if keys_a[prefix] != keys_b[prefix]:
        near = slice(prefix, prefix + _NEIGHBOURS)
        extra = _find_extra(keys_a[near].tolist(), keys_b[near].tolist())
    else:
        near = slice(prefix, prefix + _NEAR + 1)
        extra = _find_shifted(paired, _Stretch(a[near], keys_a[near]), _Stretch(b[near], keys_b[near]))
    divergence = {
        "a": Divergence(at_a, None, (at_a, 1), at_b),
        "b": Divergence(None, at_b, (at_a, 0), at_a),
        "": Divergence(at_a, at_b, (at_a, 1)),
    }[extra]
    return Alignment(before_a, before_b, divergence)


def find_positions(trace: Trace, both: Window, steps: int | None) -> Ints:
    """Where the operations of the steps in the window `both`, and below `steps`, are."""
    import numpy as np

    where = np.where(trace.is_one_of("phase", {"setup"}), -1, trace.steps)
    wanted = trace.is_one_of("what", {"operation"}) & ((trace.flags & LOADER) == 0)
    wanted &= (where >= both.first) & (where <= both.last)
    if steps is not None:
        wanted &= trace.steps < steps
    return np.flatnonzero(wanted)


def _find_extra(a: list[int], b: list[int]) -> str:
    """Which of two runs of operations, unequal at their start, has one more there: "a", or "b"."""
    for tag, *_ in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "insert":
            return "b"
        if tag in ("delete", "replace"):
            return "a"
    return "a"


def _find_shifted(paired: TracePair, a: _Stretch, b: _Stretch) -> str:
    """Whether an operation of the same signature was inserted: "a" or "b" has it; "" when neither.

    `a` and `b` are the first operations that differ and _NEAR more. Equal digests one apart tell an
    insertion from another value.
    """
    for extra, skip_a, skip_b in (("b", 0, 1), ("a", 1, 0)):
        near_a, near_b = slice(skip_a, skip_a + _NEAR), slice(skip_b, skip_b + _NEAR)
        at_a, at_b = a.positions[near_a], b.positions[near_b]
        if min(len(at_a), len(at_b)) < _NEAR:
            continue
        same = a.keys[near_a] == b.keys[near_b]
        same &= paired.equal(at_a, at_b) & paired.a.digests.there[at_a]
        if bool(same.all()):
            return extra
    return ""


def brings_data(op: str) -> bool:
    """Whether an operation makes a tensor of what came from outside torch: its inputs say nothing."""
    return op.split(".")[1:2] in (["lift_fresh"], ["from_numpy"], ["frombuffer"], ["as_tensor"])


def find_origin(paired: TracePair, divergence: Divergence, both: Window) -> Origin | None:
    """What is known of the operation at which the traces diverge; None when only one of them has it."""
    if divergence.a is None or divergence.b is None:
        return None
    row = paired.a.row(divergence.a)
    flags = int(paired.a.flags[divergence.a] | paired.b.flags[divergence.b])
    sides = [(trace.inputs, at) for trace, at in _list_sides(paired, divergence)]
    inputs, known = zip(*((column.values[at], column.there[at]) for column, at in sides), strict=True)
    draws = bool(flags & DRAWS)
    return Origin(
        op=row.name or "",
        module=row.module,
        call_site=row.call_site,
        phase=row.phase,
        inputs_equal=bool(all(known) and inputs[0] == inputs[1]) and not brings_data(row.name or ""),
        draws=draws,
        generator_differs=has_other_generator_state(paired, divergence) if draws else None,
        reads_uninitialized=bool(flags & UNINITIALIZED),
        first_of_process=both.first <= -1 and _is_first(paired.a, divergence.a),
        own_generator=draws and OWN in (row.detail or ""),
        generator=(row.detail or "").split(OWN)[0] or None if draws else None,
        made_at=row.detail if flags & UNINITIALIZED and not draws else None,
    )


def _list_sides(paired: TracePair, divergence: Divergence) -> list[tuple[Trace, int]]:
    sides = ((paired.a, divergence.a), (paired.b, divergence.b))
    return [(trace, at) for trace, at in sides if at is not None]


def _is_first(trace: Trace, at: int) -> bool:
    same = trace.codes("name")[:at] == trace.codes("name")[at]
    return not bool((same & trace.is_one_of("what", {"operation"})[:at]).any())


def has_other_generator_state(paired: TracePair, divergence: Divergence) -> bool | None:
    """Whether the state that the operation drew from differs; None when it was not written in both.

    A generator of the script's own is written right before its draw, torch's generators when they changed.
    """
    import numpy as np

    last: list[dict[str, int]] = []
    for trace, at in _list_sides(paired, divergence):
        rows = np.flatnonzero(trace.is_one_of("what", {"rng"})[:at])
        words, codes = trace.words("name"), trace.codes("name")[rows].tolist()
        states = {words[code]: row for code, row in zip(codes, rows.tolist(), strict=True) if code >= 0}
        before = np.flatnonzero(trace.is_one_of("what", {"operation"})[:at])
        own = {name: row for name, row in states.items() if OWN in name and row > before.max(initial=-1)}
        shared = {name: row for name, row in states.items() if OWN not in name and name.startswith("torch-")}
        last.append(own or shared)
    known = sorted(last[0].keys() & last[1].keys())
    if not known:
        return None
    a, b = (np.array([rows[name] for name in known], dtype=np.int64) for rows in last)
    return not bool(paired.equal(a, b).all())
