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


def find_differing_last_line(whole: Run, resumed: Run) -> Printed | None:
    """A result in the last lines that differs, None where none does or a run was stopped."""
    if whole.outcome != "finished" or resumed.outcome != "finished":
        return None
    pairs = []
    for pair in zip(*(reversed(read_lines(run)) for run in (whole, resumed)), strict=False):
        if get_kind(pair[0]) != get_kind(pair[1]):
            break
        pairs.append(pair)
    one, other = (Counter(lines) for lines in zip(*pairs, strict=True)) if pairs else (Counter(), Counter())
    theirs = {_leave_out_results(line): line for line in (other - one)}
    for line in one - other:
        found = theirs.get(_leave_out_results(line))
        if found is not None and list_results_of(line) != list_results_of(found):
            return Printed(line, found)
    return None


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
