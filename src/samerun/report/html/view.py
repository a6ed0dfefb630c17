"""Everything that the page shows, as plain values: the template decides only how it looks."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from samerun.comparing.draw_ledger import DrawCount
from samerun.comparing.pairing import RecordedRun, read
from samerun.errors import SamerunError
from samerun.experiments.check.result import CheckResult
from samerun.experiments.diagnose.from_recorded import select_parted
from samerun.experiments.diagnose.result import Diagnosis
from samerun.experiments.lookup import Lookup
from samerun.explaining.patch import Patch
from samerun.report.html import causes, operations, runs, settings, source_code
from samerun.report.html.charts import growth, losses
from samerun.report.html.charts import timeline as strip
from samerun.report.text import draw_counts, first_difference
from samerun.report.text.plain_text import render_plain
from samerun.runs.store import Run

_WIDTH = 80  # columns of the text to paste
_MOST_DRAWS = 16  # rows of the ledger, of those that differ and of those that do not
_MOST_COLUMNS = 4  # runs whose settings stand side by side

_T = TypeVar("_T")


@dataclass(frozen=True)
class Draws:
    """The RNG ledger."""

    said: tuple[str, ...]  # sentences
    differing: tuple[DrawCount, ...]
    equal: tuple[DrawCount, ...]
    left_out: int  # rows that are not in these two


@dataclass(frozen=True)
class DifferenceView:
    """What is known around one first difference."""

    card: causes.Card
    operations: list[operations.Operation]
    growth: growth.GrowthChart | None
    draws: Draws | None


@dataclass(frozen=True)
class PatchView:
    """The patch, line by line."""

    lines: list[source_code.DiffLine]
    tried: str
    cannot: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class View:
    """The whole page."""

    diagnosis: Diagnosis
    alone: bool  # one run, held against nothing
    headline: str
    summary: str | None  # what was found, in a sentence
    command: str
    cards: list[causes.Card]
    patch: PatchView | None
    losses: losses.Losses | None
    strip: strip.Strip | None
    strip_runs: tuple[int, ...]  # the numbers of its two, from 1
    closely: list[DifferenceView]
    settings: list[settings.Setting]
    setting_runs: tuple[str, ...]  # labels
    runs: list[runs.RunRow]
    text: str  # the report as the terminal shows it
    trouble: list[str] = field(default_factory=list)  # what could not be read

    def data(self) -> dict[str, Any]:
        """What the plots are drawn from."""
        difference = self.diagnosis.check.difference
        return {
            "losses": None if self.losses is None else self.losses.plot,
            "strip": None if self.strip is None else self.strip.plot(),
            "growth": [None if item.growth is None else item.growth.plot for item in self.closely],
            "first": None if difference is None else difference.step,
        }


def view(diagnosis: Diagnosis, lookup: Lookup) -> View:
    """Gather it. What cannot be read is told in the page, and left out."""
    check = diagnosis.check
    reading = _Reading()
    rows = reading.attempt("the runs", lambda: runs.list_runs(diagnosis, lookup)) or []
    whole = select_parted(check)
    beside = [row for row in rows if row.run is not None and row.name in _choose_columns(check, whole)]
    cards = causes.build_cards(diagnosis)
    return View(
        diagnosis,
        alone=len(check.runs) == 1,
        headline=_write_headline(check),
        summary=_write_summary(diagnosis),
        command=shlex.join(check.command),
        cards=cards,
        patch=_build_patched(diagnosis.patch),
        losses=losses.build_losses(check),
        strip=reading.attempt(
            "the strip", lambda: reading.strip(diagnosis, runs.select_runs(rows, whole or ()))
        ),
        strip_runs=tuple(check.runs.index(name) + 1 for name in whole or () if name in check.runs),
        closely=[reading.closely(card, rows) for card in cards],
        settings=reading.attempt("the settings", lambda: settings.build_settings(runs.select_runs(beside)))
        or [],
        setting_runs=tuple(row.label for row in beside),
        runs=rows,
        text=render_plain(diagnosis, _WIDTH),
        trouble=reading.trouble,
    )


class _Reading:
    """Reads the runs, which can be damaged or come from another samerun: that must not cost the page."""

    def __init__(self) -> None:
        self.trouble: list[str] = []
        self._recorded: dict[Path, RecordedRun] = {}  # a long run takes a while to read

    def attempt(self, what: str, make: Callable[[], _T]) -> _T | None:
        """What `make` gives; None, and a line of trouble, when it cannot."""
        try:
            return make()
        except SamerunError as error:
            self.trouble.append(f"{what}: {error}")
            return None

    def closely(self, card: causes.Card, rows: Sequence[runs.RunRow]) -> DifferenceView:
        """What is known around one first difference."""
        found = card.found
        pair = runs.select_runs(rows, found.pair)
        shown: list[operations.Operation] | None = None
        if len(pair) == 2:
            shown = self.attempt(
                "the operations",
                lambda: operations.list_around(self._read(pair[0]), self._read(pair[1]), found.difference),
            )
        return DifferenceView(
            card,
            shown or [],
            growth.build_grown(found.growth),
            _draws(found.ledger),
        )

    def strip(self, diagnosis: Diagnosis, pair: Sequence[Run]) -> strip.Strip | None:
        """The strip of these two runs, with every first difference marked."""
        if len(pair) != 2:
            return None
        marks = [(found.difference.step, found.difference.phase) for found in diagnosis.found]
        return strip.strip(self._read(pair[0]), self._read(pair[1]), list(dict.fromkeys(marks)))

    def _read(self, run: Run) -> RecordedRun:
        if run.path not in self._recorded:
            recorded = self._recorded[run.path] = read(run)
            self.trouble += recorded.unreadable.values()
        return self._recorded[run.path]


def _choose_columns(check: CheckResult, whole: tuple[str, str] | None) -> tuple[str, ...]:
    return check.runs if len(check.runs) <= _MOST_COLUMNS else whole or ()


def _write_headline(check: CheckResult) -> str:
    if len(check.runs) == 1:
        return f"One run of {check.steps} step{'' if check.steps == 1 else 's'}"
    if check.verdict == "differs" and check.difference is not None:
        return f"{len(check.runs)} runs diverge {first_difference.write_headline(check.difference)}"
    if check.verdict == "same":
        return f"{len(check.runs)} runs gave the same bits"
    return f"Whether {len(check.runs)} runs are the same is not known"


def _write_summary(diagnosis: Diagnosis) -> str | None:
    proved = [cause.source for item in diagnosis.found for cause in item.causes if cause.confirmed]
    proofs = any(item.proof is not None for item in diagnosis.found)
    if not proved:
        likely = [cause.source for item in diagnosis.found for cause in item.causes[:1]]
        return f"The likely cause is {likely[0]}; no further run has proved it." if likely else None
    names = causes.join_words(proved)
    said = f"The cause is {names}" if len(proved) == 1 else f"{len(proved)} causes: {names}"
    if diagnosis.complete and proofs:
        them = "it" if len(proved) == 1 else "all of them"
        return f"{said}. With {them} controlled, the runs agree to their end."
    return f"{said}. That is not all of it." if proofs else f"{said}, confirmed by further runs."


def _build_patched(patch: Patch | None) -> PatchView | None:
    if patch is None or not (patch.diff or patch.partial or patch.cannot):
        return None
    tried = {
        True: f"Tried: {len(patch.runs)} runs of the patched code gave the same bits.",
        False: "The patched code still differs.",
        None: "Not tried.",
    }[patch.verified]
    if patch.partial:
        tried = f"These edits are {patch.why_partial}."
    said = " ".join([tried, *(f"Its cost: {cost}." for cost in patch.costs)])
    lines = source_code.diff(patch.diff or patch.partial)
    return PatchView(lines, said, tuple(sorted(patch.cannot.items())))


def _draws(ledger: Sequence[DrawCount]) -> Draws | None:
    if not ledger:
        return None
    differing = [item for item in ledger if _is_other(item)]
    equal = [item for item in ledger if not _is_other(item)]
    return Draws(
        tuple(f"{line[0].upper()}{line[1:]}." for line in draw_counts.describe_draws(differing)),
        tuple(differing[:_MOST_DRAWS]),
        tuple(equal[:_MOST_DRAWS]),
        max(0, len(differing) - _MOST_DRAWS) + max(0, len(equal) - _MOST_DRAWS),
    )


def _is_other(item: DrawCount) -> bool:
    return item.draws_a != item.draws_b or item.values_differ or bool(item.state_differs)
