"""Totals over the corpus, and the goals of the issue."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scoring.judging import ASPECTS, Score

UNITS = 6.0  # plain runs that the diagnosis of a script with one fault may take


@dataclass(frozen=True)
class Goal:
    """One thing that must hold."""

    name: str
    seen: str
    met: bool


def share(scores: Sequence[Score], aspect: str, top: int) -> tuple[int, int]:
    """(right, asked) of an aspect."""
    tables = [score.top1 if top == 1 else score.top3 for score in scores if score.counted]
    asked = [table[aspect] for table in tables if aspect in table]
    return sum(asked), len(asked)


def totals(scores: Sequence[Score]) -> list[tuple[str, str, str]]:
    """For each aspect: (aspect, top 1, top 3)."""
    return [(aspect, *(_said(*share(scores, aspect, top)) for top in (1, 3))) for aspect in ASPECTS]


def goals(scores: Sequence[Score]) -> list[Goal]:
    """The goals of issue 4; those that these cases say nothing of are left out."""
    faulty = [score for score in scores if score.counted]
    clean = [score for score in scores if score.case.clean]
    several = [score for score in faulty if len(score.case.faults) > 1]
    patched = [score for score in faulty if score.patched is not None]
    timed = [score.units for score in faulty if len(score.case.faults) == 1 and score.units is not None]
    made: list[Goal] = []
    if faulty:
        wrong = [score.case.name for score in faulty if score.false_same]
        made.append(Goal("no false same", _names(wrong), not wrong))
    if clean:
        wrong = sorted({score.case.name for score in clean if score.false_alarm})
        made.append(Goal("no false alarm", _names(wrong), not wrong))
    for aspect, least in (("source", 0.95), ("line", 0.90)):
        right, asked = share(scores, aspect, 1)
        if asked:
            met = right / asked >= least
            made.append(Goal(f"{aspect} right, top 1: {least:.0%}", _said(right, asked), met))
    if patched:
        wrong = [score.case.name for score in patched if score.patched != "same"]
        made.append(Goal("each patch offered makes check say same", _names(wrong), not wrong))
    if several:
        wrong = [score.case.name for score in several if score.missed or score.invented]
        made.append(Goal("several causes: all found, none invented", _names(wrong), not wrong))
    if timed:
        seen = f"median {statistics.median(timed):.1f}, most {max(timed):.1f}"
        made.append(Goal(f"one cause: at most {UNITS:.0f} runs' time", seen, max(timed) <= UNITS))
    return made


def _said(right: int, asked: int) -> str:
    return f"{right}/{asked} ({right / asked:.0%})" if asked else "-"


def _names(wrong: Sequence[str]) -> str:
    return "none" if not wrong else f"{len(wrong)}: " + ", ".join(wrong)
