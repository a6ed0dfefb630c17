"""The operations around the origin of a difference, those of both runs side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from samerun.comparing import operations
from samerun.comparing.alignment import TracePair, count_common_prefix
from samerun.comparing.pairing import RecordedRun, pair
from samerun.runs.difference import Difference
from samerun.runs.schema import DRAWS, LOADER, NEVER_WRITTEN, UNINITIALIZED

if TYPE_CHECKING:
    from samerun.runs.reading import Ints, Trace

_COLUMNS = ("phase", "name", "module")
_BEFORE, _AFTER = 8, 12  # operations shown on both sides of the first that is not equal
_DIGITS = 8  # of a digest

STATES = {  # in words for people
    "same": "equal",
    "origin": "origin",  # equal inputs, other outputs
    "draws": "random draw",  # that, of an operation that draws random numbers
    "comes-in": "data comes in",  # from outside torch, and is not the same
    "carried": "carried on",  # its inputs differ already
    "differs": "outputs differ",  # what went in is not known
    "healed": "equal again",  # other inputs, equal outputs
    "only-a": "only in run A",
    "only-b": "only in run B",
}


@dataclass(frozen=True)
class Digests:
    """What went in or came out, in both runs: a digest in hexadecimal, None where there is none."""

    a: str | None
    b: str | None

    @property
    def equal(self) -> bool:
        """Whether it is known to be equal."""
        return self.a is not None and self.a == self.b

    @property
    def shown(self) -> tuple[str | None, str | None]:
        """The first digits of both, so many that two that differ look different."""
        digits = _DIGITS
        if self.a is not None and self.b is not None and self.a != self.b:
            pairs = enumerate(zip(self.a, self.b, strict=False), start=1)
            digits = max(digits, next((at for at, (a, b) in pairs if a != b), digits))
        return self.a and self.a[:digits], self.b and self.b[:digits]


@dataclass(frozen=True)
class Operation:
    """One operation of one run or of both."""

    state: str  # of STATES
    step: int
    phase: str
    name: str
    module: str | None
    call_site: str | None
    inputs: Digests
    outputs: Digests
    remarks: tuple[str, ...]
    first: bool = False  # the first that is not equal

    @property
    def said(self) -> str:
        """The state, in words."""
        return STATES[self.state]


def list_around(a: RecordedRun, b: RecordedRun, difference: Difference) -> list[Operation]:
    """The operations around the first that is not equal in the process of this difference.

    [] when the runs share no step at tier ops, or all operations are equal.
    """
    pairs, _, _ = pair(a.compared, b.compared)
    pairs.sort(key=lambda both: both[0].stem != difference.process)
    for both in pairs:
        window = operations.intersect(
            operations.find_window(a.run, both[0]), operations.find_window(b.run, both[1])
        )
        if window is not None and both[0].rank == difference.rank:
            return _list_around(TracePair(*both), window)
    return []


def _list_around(paired: TracePair, window: operations.Window) -> list[Operation]:
    at_a, at_b = _find_positions(paired.a, window), _find_positions(paired.b, window)
    n = min(len(at_a), len(at_b))
    never = (paired.a.flags[at_a[:n]] & paired.b.flags[at_b[:n]] & NEVER_WRITTEN) != 0
    keys_a, keys_b = paired.keys(at_a, at_b, _COLUMNS)
    equal = count_common_prefix(keys_a, keys_b, paired.equal(at_a[:n], at_b[:n]) | never)
    if equal == len(at_a) == len(at_b):
        return []
    before = range(max(0, equal - _BEFORE), equal)
    shown = [_build_both(paired, int(at_a[number]), int(at_b[number])) for number in before]
    near = slice(equal, equal + _AFTER)
    rest_a, rest_b = at_a[near].tolist(), at_b[near].tolist()
    matcher = SequenceMatcher(None, keys_a[near].tolist(), keys_b[near].tolist(), autojunk=False)
    rest: list[Operation] = []
    for tag, a_from, a_to, b_from, b_to in matcher.get_opcodes():
        if tag == "equal":
            both = zip(rest_a[a_from:a_to], rest_b[b_from:b_to], strict=True)
            rest += [_build_both(paired, *positions) for positions in both]
            continue
        if tag != "replace" and (a_to, b_to) == (len(rest_a), len(rest_b)) == (_AFTER, _AFTER):
            break  # its partner is beyond what is looked at
        rest += [_build_lone(paired.a, position, "only-a") for position in rest_a[a_from:a_to]]
        rest += [_build_lone(paired.b, position, "only-b") for position in rest_b[b_from:b_to]]
    return shown + _mark_first(rest)


def _find_positions(trace: Trace, window: operations.Window) -> Ints:
    import numpy as np

    where = np.where(trace.is_one_of("phase", {"setup"}), -1, trace.steps)
    wanted = trace.is_one_of("what", {"operation"}) & ((trace.flags & LOADER) == 0)
    return np.flatnonzero(wanted & (where >= window[0]) & (where <= window[1]))


def _mark_first(rest: list[Operation]) -> list[Operation]:
    first = next((number for number, item in enumerate(rest) if item.state != "same"), None)
    return [replace(item, first=number == first) for number, item in enumerate(rest)]


def _build_both(paired: TracePair, a: int, b: int) -> Operation:
    one, other = paired.a, paired.b
    inputs, outputs = (
        Digests(_read_inputs(one, a), _read_inputs(other, b)),
        Digests(_digest(one, a), _digest(other, b)),
    )
    flags = int(one.flags[a] | other.flags[b])
    return _build_operation(
        one, a, _classify(one.cell("name", a) or "", inputs, outputs, flags), inputs, outputs, flags
    )


def _classify(name: str, inputs: Digests, outputs: Digests, flags: int) -> str:
    same = outputs.a == outputs.b or bool(flags & NEVER_WRITTEN)
    if same:
        return "same" if inputs.a == inputs.b else "healed"
    if operations.brings_data(name):
        return "comes-in"
    if flags & DRAWS and inputs.a == inputs.b:
        return "draws"
    if inputs.a is None or inputs.b is None:
        return "differs"
    return "origin" if inputs.equal else "carried"


def _build_lone(trace: Trace, at: int, state: str) -> Operation:
    inputs, outputs = _read_inputs(trace, at), _digest(trace, at)
    in_a = state == "only-a"
    return _build_operation(
        trace,
        at,
        state,
        Digests(inputs if in_a else None, None if in_a else inputs),
        Digests(outputs if in_a else None, None if in_a else outputs),
        int(trace.flags[at]),
    )


def _build_operation(
    trace: Trace, at: int, state: str, inputs: Digests, outputs: Digests, flags: int
) -> Operation:
    row = trace.row(at)
    remarks = {
        DRAWS: "draws random numbers",
        UNINITIALIZED: "reads memory that nothing has written",
        NEVER_WRITTEN: "leaves its output unwritten",
    }
    said = tuple(text for flag, text in remarks.items() if flags & flag)
    return Operation(
        state, row.step, row.phase, row.name or "", row.module, row.call_site, inputs, outputs, said
    )


def _read_inputs(trace: Trace, at: int) -> str | None:
    words, there = trace.inputs
    return f"{int(words[at]):016x}" if there[at] else None


def _digest(trace: Trace, at: int) -> str | None:
    words, there = trace.digests
    return words[at].tobytes().hex() if there[at] else None
