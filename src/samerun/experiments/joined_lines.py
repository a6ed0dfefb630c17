"""Lines that two threads or ranks printed into one another, and the lines that they are."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Sequence

from samerun.experiments.result_words import MEASURE, NUMBER

_LONGEST = 2000  # characters of a line
_MOST_LINES = 2000  # that differ
_FIRST = re.compile(r"[^\d\s]+")  # how a line begins
_MOST_FIRSTS = 200
_DIGITS = re.compile(r"\d+")


def list_unequal(
    first: Counter[str], other: Counter[str], get_form: Callable[[str], str]
) -> tuple[list[str], list[str]]:
    """The lines that only one of two texts has, those that ran together one by one.

    `get_form` gives a line without its values.
    """
    lines = first | other
    seams = _Seams(lines)
    one, two = (Counter(map(str.strip, seams.cut(alone))) for alone in _subtract(first, other))
    return _separate(*_subtract(one, two), get_form, {get_form(line) for line in lines})


class _Seams:
    """Where two lines ran together, by what other lines are like.

    `print` writes a line and its end one after the other, so that threads, and ranks, get in between.
    """

    def __init__(self, lines: Collection[str]) -> None:
        self._shapes = {get_shape(line) for line in lines}
        firsts = {found.group() for line in lines if (found := _FIRST.match(line))}
        listed = "|".join(map(re.escape, sorted(firsts, key=len, reverse=True)[:_MOST_FIRSTS]))
        self._starts = re.compile(listed) if listed else None

    def cut(self, lines: Sequence[str]) -> Iterator[str]:
        """The lines, those that ran together one by one."""
        waiting = deque(lines)
        while waiting:
            line = waiting.popleft()
            parts = self._find_parts(line)
            if parts is None:
                yield line
            else:
                waiting.extendleft(reversed(parts))

    def _find_parts(self, line: str) -> tuple[str, str] | None:
        if self._starts is None or len(line) > _LONGEST:
            return None
        for found in self._starts.finditer(line, 1):
            one, other = line[: found.start()], line[found.start() :]
            if not is_cut(one, other) and self._shapes.issuperset((get_shape(one), get_shape(other))):
                return one, other
        return None


def get_shape(line: str) -> str:
    """The line without its numbers, those within words as well: `step10.pt`."""
    return _DIGITS.sub("#", NUMBER.sub("#", MEASURE.sub("#", line.strip())))


def is_cut(one: str, other: str) -> bool:
    """Whether a number or a word goes on from one text to the other."""
    seam = one[-1], other[0]
    return all(side.isdigit() or side in ".-+" for side in seam) or all(side.isalpha() for side in seam)


def _separate(
    ones: Sequence[str], others: Sequence[str], get_form: Callable[[str], str], forms: Collection[str]
) -> tuple[list[str], list[str]]:
    """The lines that only one of two runs printed, where two that ran together are the two that they are.

    `print` writes a line and its end one after the other, so that threads, and ranks, get in between. A line
    is taken apart where its one part stands alone in the other run, and its other part is of the form of
    a line that is printed too (`forms`: those of all lines, without their values).
    """
    left, rest = _take_apart(ones, others, get_form, forms)
    right, left = _take_apart(rest, left, get_form, forms)
    return left, right


def _take_apart(
    lines: Sequence[str], others: Sequence[str], get_form: Callable[[str], str], forms: Collection[str]
) -> tuple[list[str], list[str]]:
    waiting, rest, kept = deque(lines), list(others), []
    while waiting:
        line = waiting.popleft()
        parts = (
            (other, part)
            for other in rest
            if (part := _find_other_part(line, other)) is not None and get_form(part) in forms
        )
        found = next(parts, None)
        if found is None:
            kept.append(line)
        else:
            rest.remove(found[0])
            waiting.appendleft(found[1])
    return kept, rest


def _find_other_part(line: str, part: str) -> str | None:
    """What is left of a line without its part at either end; not where that cuts a number or a word."""
    if len(part) >= len(line):
        return None
    if line.startswith(part):
        other = line[len(part) :]
        seam = part, other
    elif line.endswith(part):
        other = line[: -len(part)]
        seam = other, part
    else:
        return None
    return None if is_cut(*seam) else other.strip()


def _subtract(one: Counter[str], other: Counter[str]) -> tuple[list[str], list[str]]:
    """The lines that only one of two runs printed."""
    return list((one - other).elements())[:_MOST_LINES], list((other - one).elements())[:_MOST_LINES]
