"""A first difference and what the sources say of it, asked once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from samerun.explaining.cause import Findings
from samerun.explaining.confirm import is_free, list_unconfirmed, points
from samerun.explaining.explain import explain, leave_out
from samerun.runs.difference import Difference, Evidence, Strength
from samerun.sources.catalogue import find_sources
from samerun.sources.source import Kind


class _Answers(NamedTuple):
    """What the sources say of a difference."""

    evidence: tuple[Evidence, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Explained:
    """A difference with its evidence, best first, and notes; the sources are asked when one is first read."""

    difference: Difference
    held: frozenset[str] = frozenset()  # sources that gave both runs the same: not behind it

    @cached_property
    def _answers(self) -> _Answers:
        if self.held:
            asked = (source for id_, source in find_sources().items() if id_ not in self.held)
            evidence, notes = explain(self.difference, asked)
        else:
            evidence, notes = explain(self.difference)
        return _Answers(tuple(evidence), tuple(notes))

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """What the sources recognise, best first."""
        return self._answers.evidence

    @property
    def notes(self) -> tuple[str, ...]:
        """On sources that could not read what the runs recorded."""
        return self._answers.notes

    @property
    def best(self) -> Evidence | None:
        """The strongest evidence."""
        return self.evidence[0] if self.evidence else None

    @property
    def is_seen(self) -> bool:
        """Whether the reason was seen directly."""
        return self.best is not None and self.best.strength >= Strength.SEEN

    @property
    def is_likely(self) -> bool:
        """Whether what was recorded points to one line as the reason, though it was not seen directly."""
        best = self.best
        return (
            best is not None
            and best.strength >= Strength.PLAUSIBLE
            and best.call_site is not None
            and not best.beyond_control
        )

    @property
    def is_plain(self) -> bool:
        """Whether the best evidence says so much that a closer look would cost two runs and tell no more."""
        return self.best is not None and find_sources()[self.best.source].is_plain_in(self.difference)

    @property
    def is_beyond_control(self) -> bool:
        """Whether the best evidence is of what neither a control nor, therefore, a further run can prove."""
        return self.best is not None and self.best.beyond_control

    @property
    def is_race(self) -> bool:
        """Whether all that points to anything is a race, which no control holds.

        It makes runs differ at another place each time: a closer look at one of these places tells no more.
        """
        pointing = [item for item in self.evidence if points(item)]
        return (
            len(pointing) == 1 and find_sources()[pointing[0].source].kind is Kind.ORDER and is_free(pointing)
        )

    def points_elsewhere(self, evidence: Sequence[Evidence]) -> bool:
        """Whether a source explains the difference that has none of this evidence."""
        return bool({item.source for item in self.evidence} - {item.source for item in evidence})

    def without(self, generators: Collection[str]) -> Explained:
        """As if nothing had been drawn from these, so that other sources say what they see in it."""
        return replace(self, difference=leave_out(self.difference, generators)) if generators else self

    def holding(self, sources: Collection[str]) -> Explained:
        """As of runs to which these gave the same."""
        return replace(self.without(sources), held=self.held.union(sources))

    def unproved(self) -> Findings:
        """What is known of it without further runs."""
        return list_unconfirmed(self.evidence, notes=self.notes)
