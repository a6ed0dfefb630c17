"""Results that runs print and that no record holds: a metric of an unseeded bootstrap, an evaluation by hand.

A number counts as a result where the word before it says so. Times, speeds, sizes, paths, ids and progress
are another in each run and say nothing of the training. Of what else is printed a fraction counts where the
line of code is known that printed it, and is not made of such things; a whole number does not: scripts count
retries.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from samerun.experiments.differing_example import choose_example
from samerun.experiments.joined_lines import get_shape, is_cut, list_unequal
from samerun.experiments.printing_lines import PrintingLine, PrintingLines, names_something
from samerun.experiments.result_words import (
    MEASURE,
    NUMBER,
    PART,
    TURNS,
    WORD,
    classify_number,
    classify_text,
    names_text,
    read_before,
)
from samerun.runs import untrusted
from samerun.runs.ignored import IgnoredNames, LeftOut
from samerun.runs.store import Run
from samerun.runs.transient_text import CLOCK, blank, blank_clock, blank_transient, strip_transient

_MOST_BYTES = 4 << 20  # of the end of what a run printed
_COLOUR = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")  # and other codes of a terminal
_BAR = re.compile(r"\d+%\|")
_LEFT = re.compile(r"(?:\d+:)?\d+:\d\d<(?:\?|[\d:]+)")  # how long it took and will take, in a bar of tqdm
_PROGRESS = re.compile(r"\d+%\|| \d[\d.]*(?:it/s|s/it)|\beta\b", re.IGNORECASE)
_TIME_OF_DAY = re.compile(r"\b\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\b")
_LONGEST = 2000  # characters of a line that is looked for in the code


class Printed(NamedTuple):
    """A line that one run printed and the other did not, alike but for a result in it."""

    one: str
    other: str


def find_differing_results(runs: Sequence[Run], code: PrintingLines | None = None) -> Printed | None:
    """The first line whose results differ between the first run and another; None where none is seen to.

    Without `code`, numbers that are called a result count alone.
    """
    first, *others = [_read_lines(run) for run in runs]
    if first is None:
        return None
    for lines in others:
        if lines is not None and (found := find_differing_line(first, lines, code)) is not None:
            return found
    return None


def find_differing_line(
    first: Counter[str], other: Counter[str], code: PrintingLines | None = None
) -> Printed | None:
    """The same of two texts, each as `count_lines` gives it."""
    if other == first:
        return None
    return _Judge(code or PrintingLines(None)).compare(*list_unequal(first, other, _leave_out_values))


def list_metrics(run: Run) -> dict[str, float]:
    """The last number that the run printed after each word that says that it is a result."""
    found: dict[str, float] = {}
    for line in _split_lines(_read_text(run) or ""):
        for number in NUMBER.finditer(line):
            if classify_number(line, number) == "result":
                name = WORD.findall(read_before(line, number))[-1]
                found[name] = float(number.group())
    return found


def list_lines_alone(runs: Sequence[Run]) -> tuple[list[str], list[str]]:
    """The lines with a result that one of two runs printed, and no line alike in the other; for each run."""
    first, other = [_read_lines(run) for run in runs]
    return ([], []) if first is None or other is None else find_lines_alone(first, other)


def find_lines_alone(first: Counter[str], other: Counter[str]) -> tuple[list[str], list[str]]:
    """The same of two texts, each as `count_lines` gives it.

    Lines of other steps are alike: a script may print every few seconds. So are those with another time or
    path, and those that ran together in one run alone.
    """
    if first == other:
        return [], []
    alone = list_unequal(first, other, _leave_out_values)
    kinds = [{get_kind(line) for line in lines} for lines in (first, other)]
    left, right = (
        [line for line in lines if list_results_of(line) and get_kind(line) not in there]
        for lines, there in zip(alone, reversed(kinds), strict=True)
    )
    return left, right


def list_results_of(line: str) -> list[str]:
    """The numbers of a line that are results by their words; none of a line that shows progress."""
    if _PROGRESS.search(line):
        return []
    line = CLOCK.sub("", line)
    return [item.group() for item in NUMBER.finditer(line) if classify_number(line, item) == "result"]


def get_kind(line: str) -> str:
    """The line without its numbers, times, paths and ids: lines alike have the same."""
    return " ".join(get_shape(strip_transient(line)).split())


def print_alike(runs: Sequence[Run]) -> bool:
    """Whether the first of them printed no line that another did not."""
    first, *others = [_read_lines(run) for run in runs]
    return first is None or all(lines is None or not first - lines for lines in others)


def describe_left_out(runs: Sequence[Run]) -> str | None:
    """What of the lines that runs print differs, where none of it is a result; None where there is none.

    Without the lines that `list_lines_alone` lists.
    """
    first, *others = [_read_lines(run) for run in runs]
    found = Counter[str]()
    example = ""
    for lines in others:
        if first is not None and lines is not None and (left := _leave_out_alone(first - lines, lines)):
            found |= left
            example = example or choose_example([*left], [*_leave_out_alone(lines - first, first)])
    if not found:
        return None
    count = sum(found.values())
    lines_ = "1 line differs" if count == 1 else f"{count} lines differ"
    return (
        f"of what the runs print, {lines_} in what is not taken for a result (times, speeds, sizes, paths, "
        "ids, progress, numbers of which it is not known what they are)"
    ) + (f", such as {example}" if example else "")


def _leave_out_alone(lines: Counter[str], others: Collection[str]) -> Counter[str]:
    """The lines without those with a result of which the other run has none alike."""
    if not lines:
        return lines
    kinds = {get_kind(line) for line in others}
    kept = {
        line: count for line, count in lines.items() if get_kind(line) in kinds or not list_results_of(line)
    }
    return Counter(kept)


def list_ignored_results(run: Run) -> list[LeftOut]:
    """The results among what a run printed that its user ignores."""
    found: dict[LeftOut, None] = {}
    _read_lines(run, found)
    return list(found)


def read_lines(run: Run) -> list[str]:
    """The lines that a run printed, in their order, without times and progress; [] where they are lost."""
    return list_without_times(_read_text(run) or "", run.ignored)


def _read_lines(run: Run, left_out: dict[LeftOut, None] | None = None) -> Counter[str] | None:
    """How often each line was printed: processes may print in another order each time.

    Without results that are to be ignored, which go into `left_out`.
    """
    text = _read_text(run)
    return None if text is None else count_lines(text, run.ignored, left_out)


def count_lines(
    text: str, ignored: IgnoredNames, left_out: dict[LeftOut, None] | None = None
) -> Counter[str]:
    """How often each line is in a text, without results that are to be ignored, which go into `left_out`."""
    return Counter(_list_lines(text, ignored, left_out))


def _list_lines(text: str, ignored: IgnoredNames, left_out: dict[LeftOut, None] | None = None) -> list[str]:
    lines = (line.strip() for line in _split_lines(text) if line.strip())
    if ignored:
        found = {} if left_out is None else left_out
        lines = (kept for line in lines if (kept := _leave_out_ignored(line, ignored, found)))
    return list(lines)


def list_without_times(text: str, ignored: IgnoredNames) -> list[str]:
    """The lines of a text in their order, without times, speeds, sizes, paths, ids and progress."""
    lines = (_leave_out_times(line) for line in _list_lines(text, ignored) if not _PROGRESS.search(line))
    return [line for line in lines if line]


def _leave_out_times(line: str) -> str:
    line = MEASURE.sub("#", line)

    def replace(number: re.Match[str]) -> str:
        return "#" if classify_number(line, number) == "other" else number.group()

    return _TIME_OF_DAY.sub("#", strip_transient(NUMBER.sub(replace, line))).strip()


def _read_text(run: Run) -> str | None:
    try:
        return untrusted.read_end(run.path / "output.txt", _MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return None


def _split_lines(text: str) -> Iterator[str]:
    """The lines without colours; of a progress bar the last state alone, since time writes it over."""
    for line in _COLOUR.sub("", text).split("\n"):
        parts = [part for part in line.split("\r") if part.strip()]
        overwritten = [at for at, part in enumerate(parts) if _BAR.search(part)][:-1]
        yield from (part for at, part in enumerate(parts) if at not in overwritten)


def _leave_out_ignored(line: str, ignored: IgnoredNames, left_out: dict[LeftOut, None]) -> str:
    """The line with `*` for a number whose last word before it is ignored, "" where the whole line is."""
    whole = ignored.find_record("printed", line)
    if whole is not None:
        left_out[dataclasses.replace(whole, name=_leave_out_values(line))] = None
        return ""

    def replace(number: re.Match[str]) -> str:
        words = WORD.findall(read_before(line, number))[-1:]
        found = ignored.find_record("printed", words[0].rstrip(".-/@")) if words else None
        if found is None:
            return number.group()
        left_out[found] = None
        return "*"

    return NUMBER.sub(replace, line)


class _Judge:
    """Which of the lines that differ are alike but for a result."""

    def __init__(self, code: PrintingLines) -> None:
        self._code = code

    def compare(self, ones: Sequence[str], others: Sequence[str]) -> Printed | None:
        """The first pair of them."""
        ones, others = _leave_out_equal(ones, others)
        by_words: dict[str, list[str]] = {}
        for line in others:
            by_words.setdefault(_leave_out_values(line), []).append(line)
        alone: list[str] = []
        for line in ones:
            left = by_words.get(_leave_out_values(line))
            if not left:
                alone.append(line)
            elif self._has_another_result(line, other := left.pop(0), blank_clock):
                return Printed(line, other)
        rest = [line for left in by_words.values() for line in left]
        return self._compare_but_for_names(alone, rest) or self._compare_texts(alone, rest)

    def _compare_but_for_names(self, ones: Sequence[str], others: Sequence[str]) -> Printed | None:
        """Of the lines with other words those that are alike but for an id, a path or a time."""
        whole = [
            {" ".join(blank_transient(line).split()): line for line in lines} for lines in (ones, others)
        ]
        left = _leave_out_equal(*map(list, whole))
        by_words: dict[str, list[str]] = {}
        for line in left[1]:
            by_words.setdefault(_leave_out_values(line), []).append(line)
        for line in left[0]:
            if there := by_words.get(_leave_out_values(line)):
                one, other = whole[0][line], whole[1][there.pop(0)]
                if self._has_another_result(one, other, blank_transient):
                    return Printed(one, other)
        return None

    def _has_another_result(self, whole: str, other: str, clear: Callable[[str], str]) -> bool:
        """Whether two lines hold another result; what `clear` blanks is none."""
        one, other = (clear(blank(_LEFT, line)) for line in (whole, other))
        pairs = [
            (a, b)
            for a, b in zip(NUMBER.finditer(one), NUMBER.finditer(other), strict=False)
            if a.group() != b.group() and not _is_count(one, a, b)
        ]
        kinds = {classify_number(one, a) for a, _ in pairs}
        if "result" in kinds:
            return True
        if not kinds & {"statistic", "unknown"} or _PROGRESS.search(one):
            return False
        printed = self._find(whole)
        if printed is None:
            return "statistic" in kinds
        if not printed.literal and names_something(one) and "statistic" not in kinds:
            return False  # its words come from elsewhere, and say what the number is
        places = [a.start() for a, _ in pairs if classify_number(one, a) in ("statistic", "unknown")]
        return not all(self._code.changes_each_run(printed, whole, at) for at in places)

    def _compare_texts(self, ones: Sequence[str], others: Sequence[str]) -> Printed | None:
        """Of the lines with other words those that one call printed, in their order."""
        by_site: dict[str, list[str]] = {}
        for line in others:
            if (printed := self._find(line)) is not None:
                by_site.setdefault(printed.site, []).append(line)
        for line in ones:
            printed = self._find(line)
            left = [] if printed is None else by_site.get(printed.site, [])
            if printed is None or not left:
                continue
            other = left.pop(0)
            if classify_text(line) != "result" or _list_words(line) == _list_words(other):
                continue
            if not (_is_reworded(line, other) or self._code.changes_each_run(printed)):
                return Printed(line, other)
        return None

    def _find(self, line: str) -> PrintingLine | None:
        return None if len(line) > _LONGEST or _PROGRESS.search(line) else self._code.find(line)


def _leave_out_equal(ones: Sequence[str], others: Sequence[str]) -> tuple[list[str], list[str]]:
    """The lines without those whose words and results the other run printed too, in whatever order.

    Ranks print alike, and who of them is first differs; the times in their lines tell them apart.
    """
    there = Counter(map(_read_results, others))
    left = [line for line in ones if not _take(there, _read_results(line))]
    here = Counter(map(_read_results, ones))
    return left, [line for line in others if not _take(here, _read_results(line))]


def _take(counts: Counter[tuple[str, ...]], key: tuple[str, ...]) -> bool:
    """Whether there was one left, which is then taken."""
    if counts[key] <= 0:
        return False
    counts[key] -= 1
    return True


def _read_results(line: str) -> tuple[str, ...]:
    """Its words, and those of its numbers that may be results: the same in lines that say the same."""
    line = CLOCK.sub("", _LEFT.sub("", line))
    numbers = [each for each in NUMBER.finditer(line) if not _says_nothing(line, each)]
    return _leave_out_values(line), *(each.group() for each in numbers)


def _says_nothing(line: str, number: re.Match[str]) -> bool:
    return (kind := classify_number(line, number)) == "other" or (
        kind == "unknown" and number.group().lstrip("+-").isdecimal()
    )


def _leave_out_values(line: str) -> str:
    """The line without its numbers, but for that of its step or epoch: another one has another line.

    Without measures such as `104ms` too: a line is not that of another epoch since both took as long.
    """
    line = MEASURE.sub("#", line)

    def replace(number: re.Match[str]) -> str:
        words = WORD.findall(read_before(line, number))[-1:]
        return number.group() if words and set(PART.findall(words[0])) & TURNS else "#"

    return NUMBER.sub(replace, line)


def _is_reworded(one: str, other: str) -> bool:
    """Whether two lines hold the same results in their order, in other words.

    Also where a log puts a time and a level before one of them. A text may be a result itself: of lines with
    such a word (`predicted cat`) all others have to be the same.
    """
    short, long = sorted((one, other), key=len)
    if long.endswith(short) and not is_cut(before := long[: -len(short)], short):
        return not list_results_of(before)
    results = list_results_of(one)
    is_text = names_text(one) or names_text(other)
    return bool(results) and not is_text and results == list_results_of(other)


def _list_words(line: str) -> list[str]:
    """The words of a line in the order of the alphabet, those of sets come in any; without paths and ids."""
    return sorted(re.findall(r"\w+", strip_transient(line)))


def _is_count(line: str, one: re.Match[str], other: re.Match[str]) -> bool:
    """Whether two numbers are whole, and nothing says what they are."""
    whole = all(number.group().lstrip("+-").isdecimal() for number in (one, other))
    return whole and classify_number(line, one) == "unknown"
