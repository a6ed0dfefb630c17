"""What explaining finds: causes, suspects, and what was ruled out."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from samerun.runs.difference import Difference, Evidence
from samerun.sources.catalogue import find_sources


@dataclass(frozen=True)
class Cause:
    """One source behind the first difference."""

    source: str
    confirmed: bool  # further runs with it controlled, or replayed, do not diverge there
    advice: str  # lines of code that control it
    evidence: str  # one sentence: the values seen
    call_site: str | None = None
    together: bool = False  # confirmed only with the other confirmed causes controlled as well
    replayed: bool = False  # confirmed by runs that were given what the recorded run had from it
    unsettled: str | None = None  # confirmed by runs that had this and differ, where those left alone agree

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Findings:
    """What is known about the sources of one first difference, each list best first."""

    causes: tuple[Cause, ...] = ()
    suspects: tuple[Cause, ...] = ()  # not needed to explain the first difference, but worth a look
    ruled_out: tuple[Cause, ...] = ()  # the runs still diverge there with it controlled
    notes: tuple[str, ...] = field(default=())
    then: Difference | None = None  # where runs in which the confirmed causes are held still differ
    unseen: frozenset[str] = frozenset()  # of those ruled out: not seen once a better one is controlled
    past_setup: bool = False  # the confirmed causes are behind what differs after the setup as well


def make_cause(evidence: Evidence, *, confirmed: bool = False, together: bool = False) -> Cause:
    """The evidence as a cause, with the advice of its source where it brings none of its own."""
    source = find_sources().get(evidence.source)
    general = source.advice if source is not None else ""
    return Cause(
        evidence.source,
        confirmed,
        evidence.advice or general,
        evidence.text,
        evidence.call_site,
        together,
    )
