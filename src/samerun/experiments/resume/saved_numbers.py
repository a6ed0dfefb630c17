"""The numbers and arrays that two runs saved last, with torch.save or by a line of the script's own.

Counters and results. Not those in lists: a history of losses may begin anew, and nothing goes on from it.
"""

from __future__ import annotations

from collections.abc import Iterator

from samerun.comparing.describing.result_difference import describe_result
from samerun.comparing.pairing import read
from samerun.experiments.printing_lines import PrintingLines
from samerun.experiments.what_counts import read_code
from samerun.experiments.written_results import Written, is_array, is_of_torch, is_result
from samerun.runs.difference import Difference
from samerun.runs.store import Run
from samerun.runs.written import load_written


def find_differing_number(whole: Run, other: Run) -> tuple[Difference, Written] | None:
    """The first that is not the same in both, at the end of them; None where they did not both end."""
    if not whole.outcome == other.outcome == "finished":
        return None
    recorded = read(whole), read(other)
    code = PrintingLines(read_code(recorded[0]))
    for found in _list_differing(whole, other):
        if is_result(found.path, found.name, (found.one, found.other), code):
            name = f"{found.name} in {found.path}"
            difference = describe_result(recorded, "written", name, found.site, other_site=found.other_site)
            return None if difference is None else (difference, found)
    return None


def list_differing_sizes(whole: Run, other: Run) -> set[int]:
    """How many bytes the tensors have that are not the same in what torch.save wrote last."""
    others = load_written(other.path)
    found = set()
    for path, file in load_written(whole.path).items():
        if path in others and is_of_torch(path, file):
            for name, value in file.values.items():
                there = others[path].values.get(name, value)
                size = str(value).rpartition(" ")[2]
                if name.startswith("tensor ") and there != value and size.isdecimal():
                    found.add(int(size))
    return found


def _list_differing(whole: Run, other: Run) -> Iterator[Written]:
    others = load_written(other.path)
    for path, file in load_written(whole.path).items():
        there = others.get(path)
        if there is None:
            continue
        of_torch = is_of_torch(path, file)
        own = of_torch or file.site is not None  # and not a library's tables and logs
        for name, value in file.values.items():
            holds = name.startswith("array ") if of_torch else is_array(path, name)  # tensors are in records
            is_one = holds or (own and type(value) in (int, float))
            in_list = any(part.isdigit() for part in name.split("."))
            if is_one and not in_list and there.values.get(name, value) != value:
                yield Written(path, name, value, there.values[name], file.site, there.site)
