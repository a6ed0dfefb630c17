"""Ranks that train one model, and whose weights are no longer the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from samerun.health.attempts import list_attempts
from samerun.health.case import HEAD, Case, Process, format_site
from samerun.runs.details import parse_detail
from samerun.runs.reading import Trace

_DIGEST = 16  # bytes


@dataclass(frozen=True)
class _Group:
    """What one optimizer trains in one process."""

    trace: Trace
    label: str
    ranks: frozenset[int]  # that DistributedDataParallel is to keep equal; empty where it has no part in it
    parts: tuple[int, ...]  # those of its parameters
    call_site: str | None  # of the wrapping, or else of the step


def note(case: Case) -> Iterator[str]:
    """A line for each optimizer whose parameters part between two ranks, and stay apart to the end."""
    named: set[str] = set()
    trained: dict[tuple[str, frozenset[int]], dict[str, tuple[Process, _Group]]] = {}
    for process in case.processes:
        for group in _list_groups(process):
            trained.setdefault((group.label, group.ranks), {})[process.trace.stem] = process, group
    for known in trained.values():
        for attempt in list_attempts([process for process, _ in known.values()]):
            for group, said in _compare([known[process.trace.stem] for process in attempt]):
                if group.label not in named:
                    named.add(group.label)
                    yield said


def _compare(trained: Sequence[tuple[Process, _Group]]) -> Iterator[tuple[_Group, str]]:
    """What each rank of one attempt, beside the first, has of its own."""
    one, first = trained[0]
    for process, group in trained[1:]:
        said = _describe_drifted(one, process, first, group)
        if said is not None:
            yield group, said


class _ReplicasDetail(msgspec.Struct):
    """What the detail of an optimizer's replicas tells."""

    ranks: frozenset[int] = frozenset()
    parts: tuple[int, ...] = ()


def _list_groups(process: Process) -> list[_Group]:
    """The latest word on each optimizer."""
    trace, found = process.trace, {}
    for row in trace.rows(trace.is_one_of("what", {"replicas"})):
        known = parse_detail(row.detail, _ReplicasDetail) or _ReplicasDetail()
        found[row.name or ""] = _Group(trace, row.name or "", known.ranks, known.parts, row.call_site)
    return list(found.values())


def _describe_drifted(one: Process, other: Process, group: _Group, twin: _Group) -> str | None:
    wrapped = {one.trace.rank, other.trace.rank} <= group.ranks and group.parts == twin.parts
    if group.ranks and not wrapped:
        return None
    a, b = (_find_steps(item, "parameters") for item in (group, twin))
    if a.keys() != b.keys():  # uneven inputs (torch's Join): the steps of one are not those of the other
        return None
    equal = [_is_equal(group, twin, a[step], b[step], wrapped) for step in sorted(a.keys() & b.keys())]
    if not equal or all(equal):
        return None
    first = equal.index(False)
    if any(equal[first:]):  # made equal again: averaged now and then
        return None
    step = sorted(a.keys() & b.keys())[first]
    gradients = _shares_gradients(one, other, group, twin)
    if not wrapped and not gradients:
        return None  # nothing says that they are to be one model
    return _describe_drift(one, other, group, step, _name(group, twin, a[step], b[step]), wrapped, gradients)


def _find_steps(group: _Group, what: str) -> dict[int, int]:
    """Where the record of each step is."""
    import numpy as np

    trace = group.trace
    mask = trace.is_one_of("what", {what}) & trace.is_one_of("phase", {"optimizer"})
    mask &= trace.is_one_of("name", {group.label}) & trace.digests.there
    return {int(trace.steps[position]): position for position in np.flatnonzero(mask).tolist()}


def _is_equal(group: _Group, twin: _Group, a: int, b: int, wrapped: bool) -> bool:
    """Whether what is to be equal is; also where the digests of single tensors were not kept."""
    if (group.trace.digests.values[a] == twin.trace.digests.values[b]).all():
        return True
    parts = _split_parts(group.trace, a), _split_parts(twin.trace, b)
    if not wrapped:
        return False
    if None in parts:
        return len(group.parts) < _count(group)
    assert parts[0] is not None and parts[1] is not None
    return all(parts[0][number] == parts[1][number] for number in group.parts if number < len(parts[0]))


def _split_parts(trace: Trace, at_: int) -> list[bytes] | None:
    data = trace.cell("parts", at_)
    return None if data is None else [data[n : n + _DIGEST] for n in range(0, len(data), _DIGEST)]


def _count(group: _Group) -> int:
    """How many parameters the optimizer has."""
    return len(_find_names(group))


def _find_names(group: _Group) -> list[str]:
    trace = group.trace
    mask = trace.is_one_of("what", {"names"}) & trace.is_one_of("name", {f"parameters:{group.label}"})
    rows = trace.rows(mask)
    return (parse_detail(rows[-1].detail, list[str]) or []) if rows else []


def _name(group: _Group, twin: _Group, a: int, b: int) -> str | None:
    """The first parameter that differs."""
    one, other, names = _split_parts(group.trace, a), _split_parts(twin.trace, b), _find_names(group)
    if one is None or other is None:
        return None
    wanted = group.parts or range(len(one))
    found = (n for n in wanted if n < min(len(one), len(other), len(names)) and one[n] != other[n])
    number = next(found, None)
    return None if number is None else names[number]


def _shares_gradients(one: Process, other: Process, group: _Group, twin: _Group) -> bool:
    """Whether both step by the same gradients, though each has data of its own: they were averaged."""
    a, b = _find_steps(group, "gradients"), _find_steps(twin, "gradients")
    inputs = one.draws.inputs, other.draws.inputs
    same = {
        group.trace.digests.values[a[step]].tobytes()
        for step in a.keys() & b.keys()
        if (group.trace.digests.values[a[step]] == twin.trace.digests.values[b[step]]).all()
        and inputs[0].get(step) != inputs[1].get(step)
    }
    return len(same) > 1  # one that is always the same may be nothing at all


def _describe_drift(
    one: Process, other: Process, group: _Group, step: int, name: str | None, wrapped: bool, gradients: bool
) -> str:
    ranks = f"ranks {one.trace.rank} and {other.trace.rank}"
    which = f" ({name} first)" if name else ""
    if wrapped:
        why = f"though DistributedDataParallel{format_site(group.call_site)} is to keep them equal"
    else:
        why = f"though both step{format_site(group.call_site)} by the same gradients"
    todo = (
        "They step by the same gradients: look for weights made, loaded or changed on one rank alone, "
        "and for an optimizer with other settings there"
        if gradients
        else "Their gradients differ: call the wrapped model itself (not its .module), leave no_sync() "
        "before the step, and wrap it after every change of its parameters"
    )
    what = f"{ranks} have other weights from step {step} on{which}"
    return f"{HEAD}{what}, {why}: each trains a model of its own. {todo}"
