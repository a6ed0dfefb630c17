"""How a difference lives on: whether it reaches the weights, and how fast it grows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import msgspec

from samerun.comparing.alignment import TracePair, join
from samerun.comparing.pairing import pair, read
from samerun.runs.details import parse_detail
from samerun.runs.reading import Trace
from samerun.runs.schema import COMPARED
from samerun.runs.store import Run


@dataclass(frozen=True)
class Distance:
    """How far two runs are from each other after one step.

    Ulps are units in the last place of the tensors' own dtype; they are known in the steps whose weights
    were sampled.
    """

    step: int
    differing: int  # parameters that are not equal, by digest; where only groups have one, groups
    parameters: int
    loss: float | None  # relative difference of the step's last loss; None: no loss, or it is not a number
    largest_ulps: float | None = None
    median_ulps: float | None = None  # of the elements that differ
    elements: int = 0  # sampled elements that differ
    sampled: int = 0
    of: int = 0  # elements of all parameters


@dataclass(frozen=True)
class Growth:
    """The distances of two runs from the first difference on."""

    distances: tuple[Distance, ...]
    alive: bool | None  # whether weights or buffers differ at the end; None: neither was recorded
    healed_at: int | None = None  # the step from which on nothing that was recorded differs
    reached_weights_at: int | None = None  # the first step after which weights differ

    def to_json(self) -> Mapping[str, Any]:
        """Plain values."""
        return asdict(self)


def measure_growth(a: Run, b: Run, rank: int = 0) -> Growth | None:
    """The distances of two runs; None when they do not differ in what was recorded of their steps.

    Only the steps that both runs completed count, and of each rank the first process that differs. Raises
    SchemaError for a version not known here.
    """
    pairs, _, _ = pair(read(a).compared, read(b).compared)
    of_rank = [(one, other) for one, other in pairs if one.rank == rank]
    return next((found for both in of_rank if (found := _measure_pair(*both)) is not None), None)


def _measure_pair(a: Trace, b: Trace) -> Growth | None:
    steps = min(_count_steps(a), _count_steps(b))
    differing = _find_differing_steps(TracePair(a, b), steps)
    if not differing or _is_reordered(a, b):
        return None
    weights = _read_groups(a, "parameters", steps), _read_groups(b, "parameters", steps)
    losses = a.losses(), b.losses()
    samples = _read_samples(a), _read_samples(b)
    first, last = min(differing), max(differing)
    distances = tuple(
        Distance(
            step,
            *_count_unequal(weights, step),
            _measure_relative(losses[0].get(step, ()), losses[1].get(step, ())),
            **_measure_ulps(samples[0].get(step, {}), samples[1].get(step, {})),
        )
        for step in _list_recorded((a, b), first, steps)
    )
    alive = _is_alive((weights, (_read_groups(a, "buffers", steps), _read_groups(b, "buffers", steps))))
    reached = next((item.step for item in distances if item.differing), None)
    return Growth(distances, alive, last + 1 if not alive and last + 1 < steps else None, reached)


def _is_reordered(a: Trace, b: Trace) -> bool:
    """Whether an optimizer has its parameters in another order: one would be compared with another one."""
    one, other = (
        {row.name or "": row.detail or "" for row in trace.rows(trace.is_one_of("what", {"names"}))}
        for trace in (a, b)
    )
    both = ((one[name], other[name]) for name in one.keys() & other.keys() if name.startswith("parameters:"))
    return any(x != y and sorted(x.split('"')) == sorted(y.split('"')) for x, y in both)  # of a JSON list


def _list_recorded(traces: tuple[Trace, Trace], first: int, end: int) -> list[int]:
    """The steps in this range that one of the traces has a record of."""
    import numpy as np

    steps = np.unique(np.concatenate([trace.steps for trace in traces]))
    return [int(step) for step in steps[(steps >= first) & (steps < end)]]


def _count_steps(trace: Trace) -> int:
    """How many optimizer steps are complete."""
    done = trace.is_one_of("what", {"parameters"}) & trace.is_one_of("phase", {"optimizer"})
    return int(trace.steps[done].max(initial=-1)) + 1


def _find_differing_steps(paired: TracePair, steps: int) -> set[int]:
    """The steps in which any record differs, or is there in one run only."""
    import numpy as np

    at_a, at_b = (
        np.flatnonzero(trace.is_one_of("what", _RECORDS) & (trace.steps < steps))
        for trace in (paired.a, paired.b)
    )
    keys_a, keys_b = paired.keys(at_a, at_b, ("phase", "what", "name"))
    partner_a, partner_b = join(keys_a, keys_b)
    there = partner_a >= 0
    equal = paired.equal(at_a[there], at_b[partner_a[there]])
    found = (
        paired.a.steps[at_a[there]][~equal],
        paired.a.steps[at_a[~there]],
        paired.b.steps[at_b[partner_b < 0]],
    )
    return {step for steps_ in found for step in steps_.tolist()}


def _is_alive(groups: Iterable[tuple[_Groups, _Groups]]) -> bool | None:
    """Whether the last that was recorded of any group differs; None when nothing was."""
    known = []
    for one, other in groups:
        names = {name for _, name in one.keys() & other.keys()}
        for name in names:
            last = max(key for key in one.keys() & other.keys() if key[1] == name)
            known.append(one[last][0] != other[last][0])
    return any(known) if known else None


_Groups = dict[tuple[int, str], tuple[bytes | None, list[bytes]]]


def _read_groups(trace: Trace, what: str, steps: int) -> _Groups:
    """(the digest of a group, those of its tensors) after each step, by (step, name of the group)."""
    mask = trace.is_one_of("what", {what}) & trace.is_one_of("phase", {"optimizer"}) & (trace.steps < steps)
    found: _Groups = {}
    for row, parts in zip(trace.rows(mask), trace.parts(mask), strict=True):
        pieces = [parts[at : at + _PART] for at in range(0, len(parts), _PART)] if parts else []
        found[row.step, row.name or ""] = row.digest, pieces
    return found


def _count_unequal(weights: tuple[_Groups, _Groups], step: int) -> tuple[int, int]:
    """(tensors that are not equal, all of them)."""
    differing = every = 0
    for key in weights[0].keys() & weights[1].keys():
        if key[0] != step:
            continue
        (digest, one), (other_digest, other) = weights[0][key], weights[1][key]
        if not one or not other:  # long runs keep only the digests of groups
            one, other = [digest or b""], [other_digest or b""]
        every += max(len(one), len(other))
        differing += abs(len(one) - len(other)) + sum(x != y for x, y in zip(one, other, strict=False))
    return differing, every


def _measure_relative(a: tuple[float, ...], b: tuple[float, ...]) -> float | None:
    """|a - b| over the larger of both, of the last losses of a step."""
    if not a or not b or not math.isfinite(a[-1]) or not math.isfinite(b[-1]):
        return None
    largest = max(abs(a[-1]), abs(b[-1]))
    return abs(a[-1] - b[-1]) / largest if largest else 0.0


class _Sampling(msgspec.Struct):
    """What the detail of a record of values tells."""

    elements: int = 0
    of: int = 0  # elements from which these were taken
    dtype: str | None = None


class _Sample(NamedTuple):
    """Some of the weights of a group, of one dtype."""

    sampling: _Sampling
    raw: bytes  # the elements one after the other


_Sampled = dict[str, _Sample]


def _read_samples(trace: Trace) -> dict[int, _Sampled]:
    """What was sampled of the weights after each step, by group and dtype."""
    mask = trace.is_one_of("what", {"values"})
    found: dict[int, _Sampled] = {}
    for row, parts in zip(trace.rows(mask), trace.parts(mask), strict=True):
        of = parse_detail(row.detail, _Sampling) or _Sampling()
        found.setdefault(row.step, {})[f"{row.name or ''} {of.dtype}"] = _Sample(of, parts or b"")
    return found


def _measure_ulps(a: _Sampled, b: _Sampled) -> dict[str, Any]:
    """The columns of a Distance that come from sampled weights."""
    import numpy as np

    apart, sampled, of = [], 0, 0
    for name in a.keys() & b.keys():
        (sampling, one), (other_sampling, other) = a[name], b[name]
        if sampling != other_sampling or len(one) != len(other) or sampling.dtype not in _INTEGERS:
            continue
        kind = np.dtype(_INTEGERS[sampling.dtype])
        # The bits of a float, as an integer, are in the order of the numbers once negative ones are mirrored.
        ordered = []
        for raw in (one, other):
            bits = np.frombuffer(raw, kind).astype(object if kind.itemsize == 8 else np.int64)
            ordered.append(np.where(bits < 0, -(2 ** (8 * kind.itemsize - 1)) - bits, bits))
        distance = np.abs(ordered[0] - ordered[1])
        apart.append(distance[distance != 0].astype(np.float64))
        sampled, of = sampled + len(distance), of + sampling.of
    if not sampled:
        return {}
    every = np.concatenate(apart)
    return {
        "largest_ulps": float(every.max(initial=0.0)),
        "median_ulps": float(np.median(every)) if len(every) else None,
        "elements": len(every),
        "sampled": sampled,
        "of": of,
    }


_RECORDS = frozenset(COMPARED) - {"operation", "end"}
_PART = 16  # bytes of a digest
_INTEGERS = {"float16": "<i2", "bfloat16": "<i2", "float32": "<i4", "float64": "<i8"}
