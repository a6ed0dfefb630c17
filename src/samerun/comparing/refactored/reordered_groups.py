"""Groups of tensors that other code goes through in another order: a refactoring moves no bit by that."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from samerun.comparing.refactored.renamed_classes import read_code
from samerun.digest.keyed import combine
from samerun.runs.details import parse_detail
from samerun.runs.reading import Trace

_PART = 16  # bytes of a tensor's digest among the parts of its group
_Group = tuple[str, str]  # what the records are, and their name


class Ordered(NamedTuple):
    """Two traces, with the tensors of b's groups in the order of a's."""

    a: Trace
    b: Trace
    groups: tuple[str, ...] = ()  # the names of those that b has in another order
    lacking: int | None = None  # the first step that has a record whose tensors are not known one by one


def put_in_order(a: Trace, b: Trace) -> Ordered:
    """The groups whose tensors have the same names in both, in another order; nothing else changes.

    An optimizer's are so after its parameters were split into groups, for one. Where a record holds no single
    tensors (a long trace has those of some steps alone), its order cannot be changed: it loses its digest.
    Not for runs of the same code and command: there the order is a result.
    """
    ours, theirs = _list_names(a), _list_names(b)
    orders: dict[_Group, list[int]] = {}
    for group in ours.keys() & theirs.keys():
        mine, other = ours[group], theirs[group]
        if mine != other and sorted(mine) == sorted(other) and len(set(mine)) == len(mine):
            at = {name: number for number, name in enumerate(other)}
            orders[group] = [at[name] for name in mine]
    if not orders:
        return Ordered(a, b)
    rows_a, rows_b = _list_rows(a, orders), _list_rows(b, orders)
    digests_a, digests_b = (trace.table.column("digest").to_pylist() for trace in (a, b))
    parts_b = b.table.column("parts").to_pylist()
    lacking: int | None = None
    for key in rows_a.keys() & rows_b.keys():
        at_a, at_b, order = rows_a[key], rows_b[key], orders[key[0]]
        if all(
            len(trace.cell("parts", at) or b"") == _PART * len(order) for trace, at in ((a, at_a), (b, at_b))
        ):
            pieces = [parts_b[at_b][_PART * number : _PART * (number + 1)] for number in order]
            parts_b[at_b] = b"".join(pieces)
            digests_b[at_b] = None if digests_b[at_b] is None else combine(pieces)
        else:
            digests_a[at_a] = digests_b[at_b] = None
            step = int(a.steps[at_a])
            lacking = step if lacking is None else min(lacking, step)
    names = tuple(sorted({name for _, name in orders}))
    of_b = b.with_columns({"digest": digests_b, "parts": parts_b, "detail": _rename(b, ours, orders)})
    return Ordered(a.with_columns({"digest": digests_a}), of_b, names, lacking)


def _rename(trace: Trace, names: Mapping[_Group, Sequence[str]], groups: Collection[_Group]) -> list[Any]:
    """The details of its records, with these names of the groups."""
    details: list[Any] = trace.table.column("detail").to_pylist()
    for at in trace.is_one_of("what", {"names"}).nonzero()[0].tolist():
        what, _, label = (trace.cell("name", at) or "").partition(":")
        if (what, label) in groups:
            details[at] = json.dumps(names[what, label])
    return details


def is_of_other_program(a: Trace, b: Trace) -> bool:
    """Whether the two ran other code, or were given other arguments."""
    return read_code(a) != read_code(b) or a.meta.get("argv") != b.meta.get("argv")


def _list_names(trace: Trace) -> dict[_Group, list[str]]:
    """The names of each group's tensors, where they stay the same throughout."""
    found: dict[_Group, list[str]] = {}
    changing: set[_Group] = set()
    for row in trace.rows(trace.is_one_of("what", {"names"})):
        what, colon, label = (row.name or "").partition(":")
        group = what, label
        if not colon or group in found:
            changing.add(group)
        found[group] = parse_detail(row.detail, list[str]) or []
    return {group: names for group, names in found.items() if group not in changing}


def _list_rows(trace: Trace, groups: dict[_Group, list[int]]) -> dict[tuple[_Group, int, str, int], int]:
    """The positions of these groups' records, each by step, phase, and its number among those."""
    found: dict[tuple[_Group, int, str, int], int] = {}
    counts: dict[tuple[_Group, int, str], int] = defaultdict(int)
    kinds, names = {what for what, _ in groups}, {name for _, name in groups}
    mask = trace.is_one_of("what", kinds) & trace.is_one_of("name", names)
    for at in mask.nonzero()[0].tolist():
        group = trace.cell("what", at), trace.cell("name", at)
        if group in groups:
            step, phase = int(trace.steps[at]), str(trace.cell("phase", at))
            number = counts[group, step, phase]
            found[group, step, phase, number] = at
            counts[group, step, phase] += 1
    return found
