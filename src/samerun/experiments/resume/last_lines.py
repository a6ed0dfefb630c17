"""What the whole run and the resumed one print at their end: a mean that the script keeps is in no record.

The last lines that are alike but for their numbers are compared, back to the first that only one run has. A
line counts where all its numbers that are no result, such as the step, are equal: the resumed run may have
printed at other steps.
"""

from __future__ import annotations

import re
from collections import Counter

from samerun.comparing.describing.result_difference import describe_result
from samerun.comparing.pairing import read
from samerun.experiments.printed_results import Printed, get_kind, list_results_of, read_lines
from samerun.experiments.printing_lines import PrintingLines
from samerun.experiments.resume.advice import RESULTS, RESULTS_ADVICE, Lack
from samerun.experiments.what_counts import read_code
from samerun.runs.difference import Difference
from samerun.runs.store import Run

_COUNT = re.compile(r"(?i)\b(steps?|epochs?|iter(?:ation)?s?|updates?|rounds?|episodes?)\W{1,3}(\d+)\b")


def find_differing_last_line(whole: Run, resumed: Run) -> Printed | None:
    """A result in the last lines that differs, None where none does or a run was stopped."""
    pairs = _pair_last_lines(whole, resumed)
    one, other = (Counter(lines) for lines in zip(*pairs, strict=True)) if pairs else (Counter(), Counter())
    theirs = {_leave_out_results(line): line for line in (other - one)}
    for line in one - other:
        found = theirs.get(_leave_out_results(line))
        if found is not None and list_results_of(line) != list_results_of(found):
            return Printed(line, found)
    return None


def find_other_count(whole: Run, resumed: Run) -> Printed | None:
    """The last line with equal results that counts steps or epochs, where they are not the same."""
    for one, other in _pair_last_lines(whole, resumed):
        counts = _COUNT.findall(one), _COUNT.findall(other)
        if counts[0] and list_results_of(one):
            equal = counts[0] == counts[1] or list_results_of(one) != list_results_of(other)
            return None if equal else Printed(one, other)
    return None


def _pair_last_lines(whole: Run, resumed: Run) -> list[tuple[str, str]]:
    """The last lines, from the end, as long as they are alike but for their numbers."""
    pairs: list[tuple[str, str]] = []
    if whole.outcome == resumed.outcome == "finished":
        for pair in zip(*(reversed(read_lines(run)) for run in (whole, resumed)), strict=False):
            if get_kind(pair[0]) != get_kind(pair[1]):
                break
            pairs.append(pair)
    return pairs


def describe_printed(whole: Run, resumed: Run, printed: Printed) -> tuple[Difference, Lack]:
    """The difference in that line of two runs that were compared, and what the checkpoint lacked by it."""
    recorded = read(whole), read(resumed)
    line = PrintingLines(read_code(recorded[0])).find(printed.one)
    site = None if line is None else line.site
    difference = describe_result(recorded, "printed", printed.one, site)
    assert difference is not None
    evidence = f"the run never stopped prints {printed.one!r}, the resumed one {printed.other!r}"
    return difference, Lack(RESULTS, evidence, RESULTS_ADVICE)


def _leave_out_results(line: str) -> str:
    for number in list_results_of(line):
        line = re.sub(rf"(?<![\w.]){re.escape(number)}(?![\w.])", "#", line, count=1)
    return line
