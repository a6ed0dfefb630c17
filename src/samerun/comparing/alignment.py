"""Holds the records of two traces against each other and finds the first that differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from samerun.comparing.refactored.renamed_classes import find_renamed
from samerun.comparing.refactored.reordered_groups import Ordered, is_of_other_program, put_in_order
from samerun.runs.reading import Trace

if TYPE_CHECKING:
    from samerun.runs.reading import Bools, Ints


@dataclass(frozen=True)
class Divergence:
    """The first place where two sequences of records differ; positions are those in the traces."""

    a: int | None  # the record in a; None: only b has it
    b: int | None  # the record in b; None: only a has it
    place: tuple[int, int]  # where it stands in the order of a, comparable within one pair of traces
    instead: int | None = None  # where only one has it: the record at which the other run is then

    def at_a(self) -> int:
        """The position in the trace a, of what comes next there when it lacks the record."""
        return self.place[0] if self.a is None else self.a

    def at_b(self) -> int:
        """The position in the trace b, of what comes next there when it lacks the record."""
        if self.b is not None:
            return self.b
        return self.place[0] if self.instead is None else self.instead

    @property
    def flow(self) -> bool:
        """Whether only one of the runs has the record."""
        return self.a is None or self.b is None


@dataclass(frozen=True)
class Alignment:
    """Which records of a and b belong together."""

    a: Ints  # positions in the trace a of the records that have a partner
    b: Ints  # their partners' positions in the trace b
    divergence: Divergence | None
    short: Literal["a", "b"] | None = None  # the run that only lacks the last records of the other
    moved: int = 0  # records that are equal and stand elsewhere


class TracePair:
    """Two traces, their words numbered alike, and the tensors of their groups in one order."""

    def __init__(self, a: Trace, b: Trace) -> None:
        self._of_other_program = is_of_other_program(a, b)
        ordered = put_in_order(a, b) if self._of_other_program else Ordered(a, b)
        self.a, self.b, self.reordered, self.unordered_from = ordered
        self._codes: dict[str, tuple[Ints, Ints]] = {}

    def codes(self, column: str) -> tuple[Ints, Ints]:
        """int[n] for each trace: equal codes stand for equal words, -1 for none."""
        if column not in self._codes:
            self._codes[column] = self._number(column)
        return self._codes[column]

    def _number(self, column: str) -> tuple[Ints, Ints]:
        import numpy as np

        numbers: dict[str, int] = {}
        renamed = find_renamed(self.a, self.b) if column == "name" else {}

        def renumbered(trace: Trace) -> Ints:
            words = trace.words(column)
            if trace is self.b and renamed:
                words = [renamed.get(word, word) for word in words]
            table = [numbers.setdefault(word, len(numbers)) for word in words]
            if table == list(range(len(table))):
                return trace.codes(column)
            new: Ints = np.array([*table, -1], dtype=np.int32)[trace.codes(column)]
            return new

        a, b = renumbered(self.a), renumbered(self.b)
        return self._saved_as(a, b) if column == "name" else (a, b)

    def _saved_as(self, a: Ints, b: Ints) -> tuple[Ints, Ints]:
        """The codes of names, without those of files that only one run saved.

        Such a name often holds the time of day: what is saved counts, and not as what.
        """
        import numpy as np

        saved_a, saved_b = (trace.is_one_of("what", {"saved"}) for trace in (self.a, self.b))
        alone = np.setxor1d(a[saved_a], b[saved_b])
        if not len(alone):
            return a, b
        nameless = [
            np.where(saved & np.isin(codes, alone), np.int32(-1), codes)
            for saved, codes in ((saved_a, a), (saved_b, b))
        ]
        return nameless[0], nameless[1]

    def keys(self, at_a: Ints, at_b: Ints, columns: Sequence[str]) -> tuple[Ints, Ints]:
        """int64 for each of these positions: equal keys stand for equal steps and words in these columns."""
        import numpy as np

        a, b = self.a.steps[at_a], self.b.steps[at_b]
        for column in columns:
            more_a, more_b = self.codes(column)
            more_a, more_b = more_a[at_a], more_b[at_b]
            base = int(max(more_a.max(initial=-1), more_b.max(initial=-1))) + 2
            largest = max(int(np.abs(side).max(initial=0)) for side in (a, b))
            if (largest + 1) * base >= 2**62:  # would not fit: number the keys so far closely
                both = np.unique(np.concatenate([a, b]), return_inverse=True)[1].astype(np.int64)
                a, b = both[: len(a)], both[len(a) :]
            a, b = a * base + more_a + 1, b * base + more_b + 1
        return a, b

    def equal(self, a: Ints, b: Ints) -> Bools:
        """Whether the digests at these positions are equal, pair by pair; two that are not there are.

        Between runs of other code, what torch.save wrote under the same names is equal in any order.
        """
        digests_a, there_a = self.a.digests
        digests_b, there_b = self.b.digests
        equal: Bools = (digests_a[a] == digests_b[b]).all(axis=1) & (there_a[a] == there_b[b])
        return equal | self._holds_the_same(a, b) if self._of_other_program else equal

    def _holds_the_same(self, a: Ints, b: Ints) -> Bools:
        """Whether the pairs at these positions are two saved files with the same tensors by name."""
        sums_a, there_a = self.a.inputs
        sums_b, there_b = self.b.inputs
        same: Bools = self.a.is_one_of("what", {"saved"})[a] & self.b.is_one_of("what", {"saved"})[b]
        same &= there_a[a] & there_b[b] & (sums_a[a] == sums_b[b])
        return same


def count_common_prefix(a: Ints, b: Ints, equal: Bools) -> int:
    """How many records have equal keys from the start, and equal digests as `equal` says."""
    n = len(equal)
    agree = (a[:n] == b[:n]) & equal
    return n if agree.all() else int(agree.argmin())


def align(paired: TracePair, a: Ints, b: Ints, columns: Sequence[str]) -> Alignment:
    """Align the records at positions a and b by step, these columns, and occurrence among those of one key.

    The divergence is the first in the order of a; a record that only b has stands where b has it.
    """
    import numpy as np

    n = min(len(a), len(b))
    keys_a, keys_b = paired.keys(a, b, columns)
    prefix = count_common_prefix(keys_a, keys_b, paired.equal(a[:n], b[:n]))
    if prefix == n and len(a) == len(b):
        return Alignment(a, b, None)
    rest_a, rest_b = a[prefix:], b[prefix:]
    partner_a, partner_b = join(keys_a[prefix:], keys_b[prefix:])
    has_a, has_b = partner_a >= 0, partner_b >= 0
    matched_a, matched_b = rest_a[has_a], rest_b[partner_a[has_a]]
    full_a, full_b = np.concatenate([a[:prefix], matched_a]), np.concatenate([b[:prefix], matched_b])

    candidates: list[Divergence] = []
    differ = ~paired.equal(matched_a, matched_b)
    if differ.any():
        first = int(differ.argmax())
        at = int(matched_a[first])
        candidates.append(Divergence(at, int(matched_b[first]), (at, 1)))
    short: Literal["a", "b"] | None = None
    if has_b.all() and not candidates and _is_suffix(~has_a):
        short = "b" if not has_a.all() else None
    elif has_a.all() and not candidates and _is_suffix(~has_b):
        short = "a"
    if not has_a.all():
        lone = int(has_a.argmin())
        at = int(rest_a[lone])
        candidates.append(Divergence(at, None, (at, 1), _find_after(partner_a[:lone], rest_b)))
    if not has_b.all():
        lone = int(has_b.argmin())
        instead = _find_after(partner_b[:lone], rest_a)
        place = len(paired.a) if instead is None else instead
        candidates.append(Divergence(None, int(rest_b[lone]), (place, 0), instead))
    moved = int((np.diff(partner_a[has_a]) < 0).sum())
    divergence = min(candidates, key=lambda item: item.place, default=None)
    return Alignment(full_a, full_b, divergence, short, moved)


def _find_after(partners: Ints, positions: Ints) -> int | None:
    """The position of the record that follows all of these partners, None when there is none."""
    following = int(partners.max(initial=-1)) + 1
    return int(positions[following]) if following < len(positions) else None


def _is_suffix(mask: Bools) -> bool:
    """Whether the true values are the last ones, all of them."""
    return not mask.any() or bool(mask[int(mask.argmax()) :].all())


def join(a: Ints, b: Ints) -> tuple[Ints, Ints]:
    """For each of a and b the index of its partner, -1 for none: the n-th of a key goes with the n-th."""
    import numpy as np

    both = np.concatenate([a, b])
    order = np.argsort(both, kind="stable")  # of each key, those of a before those of b, each in order
    ordered = both[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(both) else np.zeros(0, np.int64)
    size = np.diff(np.r_[first, len(both)])
    of_a = np.add.reduceat(order < len(a), first, dtype=np.int64) if len(both) else first
    group = np.repeat(np.arange(len(first)), size)
    within = np.arange(len(both)) - first[group]
    occurrence = np.where(order < len(a), within, within - of_a[group])
    pairs = np.minimum(of_a, size - of_a)[group]
    left = (order < len(a)) & (occurrence < pairs)
    right = (order >= len(a)) & (occurrence < pairs)
    partner_a, partner_b = np.full(len(a), -1, np.int64), np.full(len(b), -1, np.int64)
    # Both lists are ordered by key, then by occurrence: they run in step.
    partner_a[order[left]] = order[right] - len(a)
    partner_b[order[right] - len(a)] = order[left]
    return partner_a, partner_b
