"""Takes what its user ignores out of a trace as it is read, so that nothing that compares runs meets it."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from samerun.digest.keyed import combine
from samerun.runs import columns
from samerun.runs.details import parse_detail
from samerun.runs.ignored import IgnoredNames, LeftOut
from samerun.runs.reading import Trace
from samerun.runs.schema import COMPARED

if TYPE_CHECKING:
    from samerun.runs.reading import Bools

_PART = 16  # bytes of a tensor's digest among the parts of its group
_RECORDS = frozenset(COMPARED) - {"end"}  # how a process ended always counts
_NOTHING = bytes(_PART)


def leave_out(trace: Trace, ignored: IgnoredNames) -> tuple[Trace, tuple[LeftOut, ...]]:
    """(the trace without records of these names, what they were).

    Of a group of tensors, such as the parameters of an optimizer, those of these names are left out and the
    rest is kept.
    """
    if not ignored:
        return trace, ()
    dropped, whole = _find_records(trace, ignored)
    changed, of_groups = _mask_tensors(trace, ignored, dropped)
    table, found = trace.with_columns(changed).table, tuple(dict.fromkeys((*whole, *of_groups)))
    if dropped.any():
        table = table.filter(columns.build_truths(~dropped)).combine_chunks()
    return (replace(trace, table=table) if found else trace), found


def _find_records(trace: Trace, ignored: IgnoredNames) -> tuple[Bools, list[LeftOut]]:
    """Which records are left out whole, by their own name."""
    import numpy as np

    dropped = np.zeros(len(trace), dtype=bool)
    found = []
    for what in _RECORDS.intersection(trace.words("what")):
        of_kind = trace.is_one_of("what", {what})
        for code in np.unique(trace.codes("name")[of_kind]).tolist():
            left_out = ignored.find_record(what, trace.words("name")[code]) if code >= 0 else None
            if left_out is not None:
                dropped |= of_kind & (trace.codes("name") == code)
                found.append(left_out)
    return dropped, found


def _mask_tensors(
    trace: Trace, ignored: IgnoredNames, dropped: Bools
) -> tuple[Mapping[str, Sequence[bytes | None]], list[LeftOut]]:
    """(the columns `parts` and `digest` where tensors of groups are left out, what these were).

    Groups of which nothing is left are marked as `dropped`.
    """
    import numpy as np

    groups = _Groups(trace, ignored)
    rows = np.flatnonzero(~dropped & trace.is_one_of("what", groups.kinds))
    found: dict[LeftOut, None] = {}
    parts: list[bytes | None] = []
    digests: list[bytes | None] = []
    for at in rows.tolist():
        here = groups.find(trace.cell("what", at), trace.cell("name", at), at)
        content = trace.cell("parts", at)
        if not here or not content:
            continue
        if not parts:
            parts, digests = (trace.table.column(name).to_pylist() for name in ("parts", "digest"))
        pieces = [content[start : start + _PART] for start in range(0, len(content), _PART)]
        for number, left_out in here.items():
            if number < len(pieces):
                pieces[number] = _NOTHING
                found[left_out] = None
        parts[at] = b"".join(pieces)
        digests[at] = None if digests[at] is None else combine(pieces)
        dropped[at] = all(piece == _NOTHING for piece in pieces)
    return ({"parts": parts, "digest": digests} if parts else {}), list(found)


class _Groups:
    """Which tensors of a trace's groups are left out."""

    def __init__(self, trace: Trace, ignored: IgnoredNames) -> None:
        self._lists: dict[tuple[str, str], list[tuple[int, dict[int, LeftOut]]]] = defaultdict(list)
        for at in trace.is_one_of("what", {"names"}).nonzero()[0].tolist():
            what, colon, label = (trace.cell("name", at) or "").partition(":")
            names = parse_detail(trace.cell("detail", at), list[str]) or []
            for kind in (what,) if colon else _RECORDS:
                found = ((number, ignored.find_record(kind, name)) for number, name in enumerate(names))
                here = {number: item for number, item in found if item is not None}
                self._lists[kind, label if colon else what].append((at, here))
        self._lists = {group: lists for group, lists in self._lists.items() if any(here for _, here in lists)}

    @property
    def kinds(self) -> set[str]:
        """What the records of such groups are."""
        return {what for what, _ in self._lists}

    def find(self, what: str, label: str | None, at: int) -> Mapping[int, LeftOut]:
        """By their number in the group: as last named before the record, else as first named after it."""
        lists = self._lists.get((what, label or ""))
        if lists is None:
            return {}
        return lists[max(bisect_right(lists, at, key=lambda item: item[0]) - 1, 0)][1]
