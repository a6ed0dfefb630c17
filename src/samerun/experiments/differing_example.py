"""An example of what differs in printed lines and is no result: what is no time before what is one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from samerun.experiments.result_words import MEASURE, NUMBER, classify_number
from samerun.runs.transient_text import CLOCK

_SHOWN = 80  # characters of a line
_MOST_ALIKE = 100  # lines among which the one most alike is looked for: each takes a while
_MOST_TRIED = 20  # lines
_LONGEST = 2000  # characters of a line
_TIME_OF_DAY = re.compile(r"\d:\d\d")
_ORDER = ("unknown", "line", "time")  # what is shown first


def choose_example(lines: Sequence[str], others: Sequence[str]) -> str:
    """The first words that differ between a line of one run and the line of the other that is most alike.

    A whole line where the other run has none alike; "" where results alone differ, as of other steps.
    """
    others = [line[:_LONGEST] for line in others[:_MOST_ALIKE]]
    found: dict[str, str] = {}
    for line in lines[:_MOST_TRIED]:
        for kind, text in _list_differing(line[:_LONGEST], others):
            found.setdefault(kind, text)
        if _ORDER[0] in found:
            break
    return next((found[kind] for kind in _ORDER if kind in found), "")


def _list_differing(line: str, others: Sequence[str]) -> list[tuple[str, str]]:
    """(kind, text) of each pair of words that differs, or of the whole line."""
    shown = repr(line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…")
    for other in difflib.get_close_matches(line, others, n=1):
        ones, twos = list(re.finditer(r"\S+", line)), other.split()
        pairs = [(one, two) for one, two in zip(ones, twos, strict=False) if one.group() != two]
        if len(ones) == len(twos) > 1 and pairs:
            return [(_classify(line, one), f"{one.group()!r} and {two!r} in {shown}") for one, two in pairs]
    kinds = {classify_number(line, number) for number in NUMBER.finditer(line)}
    return [("result" if "result" in kinds else "line", shown)]


def _classify(line: str, word: re.Match[str]) -> str:
    """What a word of a line is: "result", "time" (or a speed, a size) or "unknown"."""
    if any(form.search(word.group()) for form in (MEASURE, CLOCK, _TIME_OF_DAY)):
        return "time"
    kinds = {
        classify_number(line, number)
        for number in NUMBER.finditer(line)
        if word.start() <= number.start() < word.end()
    }
    if "result" in kinds:
        return "result"
    return "time" if "other" in kinds else "unknown"
