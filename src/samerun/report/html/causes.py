"""The causes, one card for each first difference: where, what was seen, the proof, and the fix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from samerun.experiments.diagnose.result import Diagnosis, FirstDifference, Proof
from samerun.explaining.cause import Cause
from samerun.report.html.source_code import CodeLine, Piece, excerpt, highlight_python, list_lines
from samerun.report.text import first_difference
from samerun.report.text import replayed_operation as alone
from samerun.report.text.in_short import describe_ruled_out
from samerun.report.text.shown_code import find_code, may_show
from samerun.sources.catalogue import find_sources


@dataclass(frozen=True)
class CauseCard:
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
    code: tuple[CodeLine, ...]  # where the runs diverge
    code_site: str | None  # its line
    causes: tuple[CauseCard, ...]
    proof: str | None
    alone: tuple[str, ...]  # the operation run again, in each way
    ruled_out: tuple[tuple[Cause, str], ...]  # with what controlling it showed
    found: FirstDifference


def build_cards(diagnosis: Diagnosis) -> list[Card]:
    """A card for each first difference, in the order of time."""
    folder = diagnosis.check.code_folder
    return [_build_card(number, found, folder) for number, found in enumerate(diagnosis.found, start=1)]


def _build_card(number: int, found: FirstDifference, folder: str) -> Card:
    shown = find_code(found.difference, folder)
    site, code = (None, []) if shown is None else (shown[0], list_lines(*shown[1]))
    return Card(
        number,
        " and ".join(cause.source for cause in found.causes) or "No known source",
        first_difference.write_headline(found.difference),
        tuple(first_difference.list_facts(found.difference, found.pair, folder)),
        tuple(code),
        site,
        tuple(_build_named(cause, found, site, folder) for cause in found.causes),
        None if found.proof is None else _describe_proof(found.proof),
        () if found.alone is None else tuple(alone.describe_probe(found.alone)),
        tuple((cause, describe_ruled_out(cause.source)) for cause in found.ruled_out),
        found,
    )


def _build_named(cause: Cause, found: FirstDifference, shown: str | None, folder: str) -> CauseCard:
    source = find_sources().get(cause.source)
    at = cause.call_site
    is_new = at is not None and at != shown and may_show(found.difference, at, folder)
    code = excerpt(at, folder) if is_new else []
    return CauseCard(
        cause,
        "" if source is None else source.summary,
        _choose_badge(cause, found),
        tuple(code),
        tuple(highlight_python(cause.advice)),
    )


def _choose_badge(cause: Cause, found: FirstDifference) -> str:
    if not cause.confirmed:
        return "likely" if cause == found.causes[0] else "possible"
    return "confirmed together" if cause.together else "confirmed"


_WAYS = {
    "control": "",
    "replay": " (the last by giving the runs what one of them had from it)",
    "patch": " (the last by an edit of the code)",
    "fresh": " (the last by starting from the folder as it was)",
}


def _describe_proof(proof: Proof) -> str:
    way = _WAYS.get(proof.way, "")
    runs = f"With {join_words(proof.controlled)} controlled{way}, {len(proof.runs)} further runs"
    if proof.agree_until is None:
        return f"{runs} agree to their end ({proof.steps} step{'' if proof.steps == 1 else 's'})."
    return f"{runs} no longer diverge there, but at step {proof.agree_until}: the next difference."


def join_words(words: Sequence[str]) -> str:
    """Words as a phrase: "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else "nothing"
