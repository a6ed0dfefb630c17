"""An order of the names in a folder that is the same everywhere, and fair to what the names say.

Sorted names stand in another relation to the data than a file system's order. Most file systems order by a
hash, where the names of a class are scattered. Sorted, `cat_01 … cat_99, dog_01 … dog_99` come class by
class: code that splits them, or trains, in the order of the listing would lose a class. So names that fall
in groups are mixed, in proportion; within a group they stay sorted. All others are sorted, numbers by their
value: `frame_2` before `frame_10`, and `img1` and `img1_mask` of two folders at the same place.
"""

from __future__ import annotations

import functools
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

from xxhash import xxh3_64_intdigest

_PART = re.compile(
    r"""(?:19|20)\d\d [-_.]?[01]\d [-_.]?[0-3]\d  # a date is one part,
        (?:[-_. T]?\d\d [-_.:h]?\d\d (?:[-_.:m]?\d\d)? )? (?!\d)  # with its time
        | \d+ | [^\W\d_]+""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"(\d+)")
_MOST_PARTS = 12  # of a name that are looked at
_SMALLEST = 4  # names in a group
_ENOUGH = 8  # names in a group, on average, where there are more groups than that


class _Named(NamedTuple):
    parts: Sequence[str]  # of its name
    item: Any


def put_in_order(found: list[Any], name: Callable[[Any], Any] = lambda item: item) -> list[Any]:
    """What was found, by name: sorted, and groups mixed where names fall in groups. See the module."""
    return [row.item for row in _mix(_take_apart(found, name))]


def classify(names: list[Any]) -> Literal["plain", "numbered", "grouped"]:
    """Whether it is right to sort these names (str or bytes) as texts; if not, why."""
    rows = _take_apart(names, lambda item: item)
    if _find_groups(rows) is not None:
        return "grouped"
    texts = sorted(map(os.fsdecode, names))
    return "plain" if sorted(texts, key=_split_numbers) == texts else "numbered"


def _split_numbers(text: str) -> list[int | str]:
    return [int(part) if part.isdecimal() else part for part in _NUMBER.split(text)]


def _take_apart(found: list[Any], name: Callable[[Any], Any]) -> list[_Named]:
    rows = [_Named(_PART.findall(os.fsdecode(name(item))), item) for item in sorted(found, key=name)]
    rows.sort(key=lambda row: [*map(_weigh, row.parts)])
    return rows


@functools.lru_cache(maxsize=65_536)
def _weigh(part: str) -> tuple[int, str]:
    """What puts parts in order: numbers by their value, before words."""
    if not part[0].isdecimal():
        return 1000, part
    digits = "".join(filter(str.isdecimal, part)).lstrip("0")
    return len(digits), digits


def _mix(rows: list[_Named]) -> list[_Named]:
    groups = _find_groups(rows)
    if groups is None:
        return rows
    placed = []
    # The large ones first: another file beside them, in one of two folders of pairs, changes nothing.
    for number, group in enumerate(sorted(groups, key=lambda group: len(group) < _SMALLEST)):
        for rank, row in enumerate(_mix(group)):
            placed.append(((rank + _get_fraction(number, rank)) / len(group), number, row))
    return [row for _, _, row in sorted(placed, key=lambda item: item[:2])]


def _find_groups(rows: list[_Named]) -> list[list[_Named]] | None:
    """The sorted names by the first part whose few values come one after the other; None: there is none."""
    longest = max((len(row.parts) for row in rows), default=0) if len(rows) >= 2 * _SMALLEST else 0
    for at in range(min(longest, _MOST_PARTS)):
        values = [row.parts[at] if at < len(row.parts) else "" for row in rows]
        sizes = Counter(values)
        if _are_groups(sizes) and sum(1 for _ in groupby(values)) <= 2 * len(sizes):
            found: dict[str, list[_Named]] = {}
            for value, row in zip(values, rows, strict=True):
                found.setdefault(value, []).append(row)
            return list(found.values())
    return None


def _are_groups(sizes: Mapping[str, int]) -> bool:
    """Whether most names are in groups, and these are no parts of one thing each: `001_t1`, `001_t2`, …"""
    large = [size for size in sizes.values() if size >= _SMALLEST]
    if len(large) < 2 or sum(large) < sum(sizes.values()) / 2:
        return False
    mean = sum(large) / len(large)
    return mean >= min(len(large), _ENOUGH)


def _get_fraction(group: int, rank: int) -> float:
    """A number in [0, 1) that has no period; the same for `a_01.png` and `a_01_mask.png` of two folders."""
    return xxh3_64_intdigest(b"%d %d" % (group, rank)) / 2**64
