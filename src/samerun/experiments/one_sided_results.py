"""Results that only one of two runs prints or writes: in words, and whether they were only moved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Literal, NamedTuple

from samerun.experiments.printed_results import get_kind, list_lines_alone, list_results_of
from samerun.experiments.printing_lines import PrintingLines
from samerun.experiments.written_results import Alone, list_files_alone
from samerun.runs.store import Run
from samerun.runs.written import Value

_SHOWN = 3  # results of a run, and values of a file
_LONGEST = 80  # characters of a line
_MOST_VALUES = 2000  # that are compared


class OneSided(NamedTuple):
    """A result that one run has and the other has not under that name and in that file."""

    what: Literal["printed", "written"]
    name: str  # as a difference of results names it
    values: tuple[Value, ...]
    shown: str  # in words, after "only run A "
    site: str | None  # the line that wrote it; of what is printed see `find_unmatched`


def find_one_sided(a: Run, b: Run) -> tuple[list[OneSided], list[OneSided]]:
    """What only run A has, and what only run B has."""
    printed, written = list_lines_alone((a, b)), list_files_alone((a, b))
    first, second = (
        [*_describe_lines(lines), *_describe_files(files)]
        for lines, files in zip(printed, written, strict=True)
    )
    return first, second


def describe_one_sided(sides: tuple[Sequence[OneSided], Sequence[OneSided]]) -> str | None:
    """The note on them; None where there is none."""
    said = []
    for run, items in zip("AB", sides, strict=True):
        shown = list(dict.fromkeys(item.shown for item in items))
        said += [f"only run {run} {text}" for text in shown[:_SHOWN]]
        if len(shown) > _SHOWN:
            said.append(f"{len(shown) - _SHOWN} more results are of run {run} alone")
    return "; ".join(said) or None


def find_unmatched(
    sides: tuple[Sequence[OneSided], Sequence[OneSided]], code: PrintingLines
) -> OneSided | None:
    """The first result of run B alone with another value than any of run A alone, where A has such a one too.

    None where one run has results that the other lost, or where they were merely renamed, reworded or moved:
    then the values of one are among those of the other, to the digits that both give.
    """
    first, second = sides
    if _find_lacking(first, second) is None:
        return None
    found = _find_lacking(second, first)
    if found is None or found.what == "written":
        return found
    line = code.find(found.name)
    return found._replace(site=None if line is None else line.site)


def _find_lacking(ones: Sequence[OneSided], others: Sequence[OneSided]) -> OneSided | None:
    """The first with a value that none of the others has."""
    there = [value for item in others for value in item.values][:_MOST_VALUES]
    equal = {str(value) for value in there}
    for item in ones:
        for value in item.values[:_MOST_VALUES]:
            if str(value) not in equal and not any(_agree(value, other) for other in there):
                return item
    return None


def _agree(one: Value, other: Value) -> bool:
    """Whether two values are the same number to the digits that both give, one of them perhaps in percent."""
    a, b = _read_number(one), _read_number(other)
    if a is None or b is None:
        return False
    return any(_agree_to_digits(*pair) for pair in ((a, b), (a * 100, b), (a, b * 100)))


def _agree_to_digits(one: Decimal, other: Decimal) -> bool:
    if one == other:
        return True
    coarse, fine = sorted((one, other), key=_count_decimals)
    decimals = _count_decimals(coarse)
    if decimals <= 0 and abs(coarse) < 10:
        return False  # a single digit says too little
    return abs(coarse - fine) <= Decimal(1).scaleb(-decimals) * Decimal("0.5001")


def _count_decimals(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


def _read_number(value: Value) -> Decimal | None:
    """A number with the digits that it is given with; None of what is no finite number."""
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _describe_lines(lines: Sequence[str]) -> list[OneSided]:
    alike: dict[str, list[str]] = {}
    for line in lines:
        alike.setdefault(get_kind(line), []).append(line)
    shown = {kind: _describe_alike(of_kind) for kind, of_kind in alike.items()}
    return [
        OneSided("printed", line, (*list_results_of(line),), shown[get_kind(line)], None) for line in lines
    ]


def _describe_alike(lines: Sequence[str]) -> str:
    more = len(lines) - 1
    like = f" and {more} line{'s' if more > 1 else ''} like it" if more else ""
    return f"prints {_shorten(lines[0])!r}{like}"


def _describe_files(items: Sequence[Alone]) -> list[OneSided]:
    by_path: dict[str, list[Alone]] = {}
    for item in items:
        by_path.setdefault(item.path, []).append(item)
    shown = {path: _describe_file(path, of_file) for path, of_file in by_path.items()}
    return [
        OneSided("written", f"{item.name} in {item.path}", item.values, shown[item.path], item.site)
        for item in items
    ]


def _describe_file(path: str, items: Sequence[Alone]) -> str:
    """In words: "writes metrics.json (accuracy 0.95)", or "writes accuracy 0.95 in metrics.json"."""
    named = [text for item in items if (text := _describe_value(item))]
    more = f", … {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    listed = ", ".join(named[:_SHOWN]) + more
    if items[0].whole:
        return f"writes {path} ({listed})" if listed else f"writes {path}"
    return f"writes {listed or 'further results'} in {path}"


def _describe_value(item: Alone) -> str:
    """The name with its value, the last of a column; "" of tensors, whose names are numbers."""
    if item.name.startswith("'"):
        return _shorten(item.name)
    last = item.values[-1]
    if isinstance(last, float) and math.isfinite(last):
        return f"{item.name} {last:.6g}"
    if isinstance(last, (int, float)):
        return f"{item.name} {last}"
    return "" if item.name.startswith(("tensor ", "array", "image")) else item.name


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
