"""The causes, one card for each first difference: where, what was seen, the proof, and the fix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from samerun.experiments.diagnose.result import Diagnosis, Found, Proof
from samerun.explaining.cause import Cause
from samerun.report.html.source_code import CodeLine, Piece, excerpt, python
from samerun.report.text import first_difference
from samerun.report.text import replayed_operation as alone
from samerun.sources.catalogue import catalogue


@dataclass(frozen=True)
class Named:
    """One cause in a card."""

    cause: Cause
    summary: str  # of its source
    badge: str
    code: tuple[CodeLine, ...]  # around its call site, where that is not the card's own
    advice: tuple[tuple[Piece, ...], ...]  # lines


@dataclass(frozen=True)
class Card:
    """One first difference and what is behind it."""

    number: int
    title: str
    headline: str  # "at step 0, in setup"
    facts: tuple[tuple[str, str], ...]
    code: tuple[CodeLine, ...]  # where the runs part
    causes: tuple[Named, ...]
    proof: str | None
    alone: tuple[str, ...]  # the operation run again, in each way
    ruled_out: tuple[Cause, ...]
    found: Found


def cards(diagnosis: Diagnosis) -> list[Card]:
    """A card for each first difference, in the order of time."""
    folder = diagnosis.check.folder
    return [_card(number, found, folder) for number, found in enumerate(diagnosis.found, start=1)]


def _card(number: int, found: Found, folder: str) -> Card:
    site = first_difference.call_site(found.difference)
    code = excerpt(site, folder)
    return Card(
        number,
        " and ".join(cause.source for cause in found.causes) or "No known source",
        first_difference.headline(found.difference),
        tuple(first_difference.facts(found.difference, found.pair)),
        tuple(code),
        tuple(_named(cause, found, site if code else None, folder) for cause in found.causes),
        None if found.proof is None else _proof(found.proof),
        () if found.alone is None else tuple(alone.said(found.alone)),
        found.ruled_out,
        found,
    )


def _named(cause: Cause, found: Found, shown: str | None, folder: str) -> Named:
    source = catalogue().get(cause.source)
    code = [] if cause.call_site == shown else excerpt(cause.call_site, folder)
    return Named(
        cause,
        "" if source is None else source.summary,
        _badge(cause, found),
        tuple(code),
        tuple(python(cause.advice)),
    )


def _badge(cause: Cause, found: Found) -> str:
    if not cause.confirmed:
        return "likely" if cause == found.causes[0] else "possible"
    return "confirmed together" if cause.together else "confirmed"


_WAYS = {
    "control": "",
    "patch": " (the last by an edit of the code)",
    "fresh": " (the last by starting from the folder as it was)",
}


def _proof(proof: Proof) -> str:
    way = _WAYS.get(proof.way, "")
    runs = f"With {joined(proof.controlled)} controlled{way}, {len(proof.runs)} further runs"
    if proof.agree_until is None:
        return f"{runs} agree to their end ({proof.steps} step{'' if proof.steps == 1 else 's'})."
    return f"{runs} do not part there any more, but at step {proof.agree_until}: the next difference."


def joined(words: Sequence[str]) -> str:
    """Words as a phrase: "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else "nothing"
