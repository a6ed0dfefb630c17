"""Tier ops, after the first difference: the operations at which two runs diverge anew.

Most operations after it differ because their inputs do. Those that do not, and those that only one run has,
are differences of their own: a second cause, perhaps.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Literal

from samerun.comparing import operations
from samerun.comparing.alignment import Divergence, TracePair, join
from samerun.comparing.context import OWN
from samerun.comparing.external_writes import find_gap
from samerun.runs.difference import LaterDifference
from samerun.runs.reading import Trace
from samerun.runs.schema import DRAWS, NEVER_WRITTEN, UNINITIALIZED

if TYPE_CHECKING:
    from samerun.runs.reading import Ints

_MOST = 64  # different ones that are kept
_FILLS = re.compile(r"[.:]\w+_(\.\w+)?$")  # aten.bernoulli_.float
_MADE = re.compile(r"[.:]rand\w*(\.\w+)?$")  # aten.rand.default: its inputs are sizes and limits alone
_NEAR = 2_000  # operations in each run that are aligned closely, between what is alike before and after them


def find_further(
    paired: TracePair, divergence: Divergence, both: operations.Window, steps: int | None
) -> tuple[tuple[LaterDifference, ...], int]:
    """(the differences after a divergence that it does not explain, how many operations it explains).

    Operations are those of the steps in the window `both`, and below `steps`.
    """
    a, b = _select_after(paired, divergence, both, steps)
    at_a, at_b, lone_a, lone_b = _align(paired, a, b)
    places = _find_places(at_a, at_b, lone_b)
    lone = [(float(at), _find_drawn(paired.a, at)) for at in lone_a.tolist()]
    lone += [(place, _find_drawn(paired.b, at)) for place, at in zip(places, lone_b.tolist(), strict=True)]
    known = [(-1.0, _find_generators(paired, divergence)), *lone]
    found, propagated = _find_parted(paired, at_a, at_b, sorted(known, key=lambda item: item[0]))
    found += [(at, _describe_further("flow", paired.a, at, "a")) for at in lone_a.tolist()]
    found += [
        (place, _describe_further("flow", paired.b, at, "b"))
        for place, at in zip(places, lone_b.tolist(), strict=True)
    ]
    found.sort(key=lambda item: item[0])
    counts: dict[LaterDifference, int] = {}
    for _, item in found:
        counts[item] = counts.get(item, 0) + 1
    kept = [LaterDifference(**{**vars(item), "count": count}) for item, count in counts.items()]
    return tuple(kept[:_MOST]), propagated


def _select_after(
    paired: TracePair, divergence: Divergence, both: operations.Window, steps: int | None
) -> tuple[Ints, Ints]:
    """The operations that come after the divergence, in each run."""
    a, b = (operations.find_positions(trace, both, steps) for trace in (paired.a, paired.b))
    from_a = divergence.at_a() + (divergence.a is not None)
    from_b = divergence.at_b() + (divergence.b is not None)
    return a[a >= from_a], b[b >= from_b]


def _align(paired: TracePair, a: Ints, b: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """(partners in a, in b, operations that only a has, that only b has)."""
    import numpy as np

    keys_a, keys_b = paired.keys(a, b, operations.COLUMNS)
    n = min(len(a), len(b))
    before = _count_alike(keys_a[:n], keys_b[:n])
    after = _count_alike(keys_a[::-1][: n - before], keys_b[::-1][: n - before])
    middle_a, middle_b = slice(before, len(a) - after), slice(before, len(b) - after)
    near_a, near_b = _find_partners(keys_a[middle_a], keys_b[middle_b])
    partner_a = np.r_[np.arange(before), before + near_a, np.arange(len(a) - after, len(a))].astype(np.int64)
    partner_b = np.r_[np.arange(before), before + near_b, np.arange(len(b) - after, len(b))].astype(np.int64)
    lone_a, lone_b = np.ones(len(a), bool), np.ones(len(b), bool)
    lone_a[partner_a] = lone_b[partner_b] = False
    return a[partner_a], b[partner_b], a[lone_a], b[lone_b]


def _count_alike(a: Ints, b: Ints) -> int:
    """How many are equal from the start."""
    equal = a == b
    return len(equal) if equal.all() else int(equal.argmin())


def _find_partners(a: Ints, b: Ints) -> tuple[Ints, Ints]:
    """Which of a belong to which of b, by their keys."""
    import numpy as np

    if max(len(a), len(b)) > _NEAR:
        partner, _ = join(a, b)
        return np.flatnonzero(partner >= 0), partner[partner >= 0]
    blocks = SequenceMatcher(None, a.tolist(), b.tolist(), autojunk=False).get_matching_blocks()
    none = np.zeros(0, np.int64)
    return (
        np.concatenate([none, *(np.arange(block.a, block.a + block.size) for block in blocks)]),
        np.concatenate([none, *(np.arange(block.b, block.b + block.size) for block in blocks)]),
    )


def _find_generators(paired: TracePair, divergence: Divergence) -> set[str]:
    """The generator whose state differed at the divergence, or does from there on: later draws differ too."""
    a, b = divergence.a, divergence.b
    if a is None or b is None:
        return set()
    name = paired.a.row(a).name or ""
    other_size = _MADE.search(name) or _FILLS.search(name)  # where it drew from a generator as it was
    return _find_drawn(paired.a, a) if other_size or _is_draw(paired, a, b) else set()


def _find_shared(trace: Trace, at: int) -> set[str]:
    """The generator that this operation drew from, where all of a process share it."""
    generator = trace.row(at).detail or ""
    return {generator} if generator and OWN not in generator else set()


def _find_drawn(trace: Trace, at: int) -> set[str]:
    """The shared generator that an operation drew from, if it is such."""
    return _find_shared(trace, at) if int(trace.flags[at]) & DRAWS else set()


def _find_parted(
    paired: TracePair, a: Ints, b: Ints, known: Sequence[tuple[float, set[str]]]
) -> tuple[list[tuple[float, LaterDifference]], int]:
    """Those of these pairs whose outputs differ of themselves, and how many others differ.

    A draw from a generator that was met before in another state is one of the others; so is one after a draw
    of another size, or one that only one run made: those are `known`, each with its place in a.
    """
    never = (paired.a.flags[a] & paired.b.flags[b] & NEVER_WRITTEN) != 0
    differ = ~(paired.equal(a, b) | never)
    a, b = a[differ], b[differ]
    inputs_a, inputs_b = paired.a.inputs, paired.b.inputs
    same = (inputs_a.values[a] == inputs_b.values[b]) & inputs_a.there[a] & inputs_b.there[b]
    found: list[tuple[float, LaterDifference]] = []
    propagated = 0
    moved: set[str] = set()
    left = deque(known)
    for at_a, at_b, of_itself in zip(a.tolist(), b.tolist(), same.tolist(), strict=True):
        kind: Literal["origin", "rng", "gap"] | None = None
        while left and left[0][0] < at_a:
            moved |= left.popleft()[1]
        drawn = _find_drawn(paired.a, at_a)
        if of_itself:
            kind = _classify(paired, at_a, at_b)
            # One of its own, such as a loader's, mostly has its seed from the process's.
            kind = None if kind == "rng" and moved and drawn <= moved else kind
        elif find_gap(paired, at_a, at_b) is not None:
            kind = "gap"
        if of_itself or _MADE.search(paired.a.row(at_a).name or ""):
            moved |= drawn
        if kind is None:
            propagated += 1
        else:
            found.append((at_a, _describe_further(kind, paired.a, at_a)))
    return found, propagated


def _classify(paired: TracePair, a: int, b: int) -> Literal["origin", "rng"] | None:
    """Of operations with equal inputs and other outputs; None for one that explains nothing.

    One that fills memory from a generator in the same state gives other numbers where that has another
    shape: it is no input, and has its reason before.
    """
    if _is_draw(paired, a, b):
        return "rng"
    draws = int(paired.a.flags[a] | paired.b.flags[b]) & DRAWS
    return None if draws and _FILLS.search(paired.a.row(a).name or "") else "origin"


def _is_draw(paired: TracePair, a: int, b: int) -> bool:
    """Whether it drew from a generator whose state differed, as far as that is known."""
    if not int(paired.a.flags[a] | paired.b.flags[b]) & DRAWS:
        return False
    return operations.has_other_generator_state(paired, Divergence(a, b, (a, 1))) is not False


def _describe_further(
    kind: Literal["origin", "rng", "gap", "flow"], trace: Trace, at: int, run: Literal["a", "b"] | None = None
) -> LaterDifference:
    row = trace.row(at)
    unwritten = bool(row.flags & UNINITIALIZED)
    made_at = row.detail if unwritten and not row.flags & DRAWS else None
    where = row.step, row.phase, row.name or "", row.module, row.call_site
    return LaterDifference(kind, *where, run=run, reads_uninitialized=unwritten, made_at=made_at)


def _find_places(a: Ints, b: Ints, lone: Ints) -> list[float]:
    """Where in the order of a those stand that only b has: right after the partner of what comes before."""
    import numpy as np

    if not len(a):
        return [float(at) for at in lone.tolist()]
    before = np.searchsorted(b, lone) - 1
    return [float(a[at]) + 0.5 if at >= 0 else -1.0 for at in before.tolist()]
