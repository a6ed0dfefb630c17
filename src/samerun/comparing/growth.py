"""How a difference lives on: whether it reaches the weights, and how fast it grows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from samerun.comparing.processes import pair, read
from samerun.runs.reading import Trace
from samerun.runs.store import Run


@dataclass(frozen=True)
class Distance:
    """How far two runs are from each other after one step.

    Ulps are units in the last place of the tensors' own dtype; they are known in the steps whose weights
    were sampled.
    """

    step: int
    differing: int  # parameters that are not equal, by digest
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


def growth(a: Run, b: Run, rank: int = 0) -> Growth | None:
    """The distances of two runs, from the first step on in which they differ; None when there is none.

    Losses and weights are those of the first process of the rank that has them in both runs.
    """
    pairs = [both for both in pair(read(a).compared, read(b).compared)[0] if both[0].rank == rank]
    for traces in pairs:
        found = _of(*traces)
        if found is not None:
            return found
    return None


def _of(a: Trace, b: Trace) -> Growth | None:
    weights = _groups(a, "parameters"), _groups(b, "parameters")
    losses = a.losses(), b.losses()
    samples = _samples(a), _samples(b)
    steps = sorted(
        losses[0].keys() & losses[1].keys() | {key[0] for key in weights[0].keys() & weights[1].keys()}
    )
    every = [
        Distance(
            step,
            *_unequal(weights, step),
            _relative(losses[0].get(step, ()), losses[1].get(step, ())),
            **_ulps(samples[0].get(step, {}), samples[1].get(step, {})),
        )
        for step in steps
    ]
    first = next((at for at, item in enumerate(every) if item.differing or item.loss), None)
    if first is None:
        return None
    distances = tuple(every[first:])
    last = max(at for at, item in enumerate(distances) if item.differing or item.loss)
    healed = distances[last + 1].step if last + 1 < len(distances) else None
    known = [item for item in distances if item.parameters]
    alive = bool(known[-1].differing) if known else None
    if alive is False and _buffers_differ(a, b):
        alive = True
    reached = next((item.step for item in known if item.differing), None)
    return Growth(distances, alive, healed, reached)


_Groups = dict[tuple[int, str], list[bytes]]


def _groups(trace: Trace, what: str) -> _Groups:
    """The digests of a group's tensors after each step, by (step, name of the group)."""
    mask = trace.is_one_of("what", {what}) & trace.is_one_of("phase", {"optimizer"})
    table = trace.table.filter(mask).select(["step", "name", "digest", "parts"])
    found: _Groups = {}
    for step, name, digest, parts in zip(*(column.to_pylist() for column in table.columns), strict=True):
        pieces = [parts[at : at + _PART] for at in range(0, len(parts or b""), _PART)] if parts else [digest]
        found[step, name or ""] = pieces
    return found


def _unequal(weights: tuple[_Groups, _Groups], step: int) -> tuple[int, int]:
    """(tensors that are not equal, all of them)."""
    differing = every = 0
    for key in weights[0].keys() & weights[1].keys():
        if key[0] == step:
            one, other = weights[0][key], weights[1][key]
            every += max(len(one), len(other))
            differing += abs(len(one) - len(other)) + sum(x != y for x, y in zip(one, other, strict=False))
    return differing, every


def _buffers_differ(a: Trace, b: Trace) -> bool:
    one, other = _groups(a, "buffers"), _groups(b, "buffers")
    both = sorted(one.keys() & other.keys())
    return bool(both) and one[both[-1]] != other[both[-1]]


def _relative(a: tuple[float, ...], b: tuple[float, ...]) -> float | None:
    """|a - b| over the larger of both, of the last losses of a step."""
    if not a or not b or not math.isfinite(a[-1]) or not math.isfinite(b[-1]):
        return None
    largest = max(abs(a[-1]), abs(b[-1]))
    return abs(a[-1] - b[-1]) / largest if largest else 0.0


_Sampled = dict[str, tuple[dict[str, Any], bytes]]


def _samples(trace: Trace) -> dict[int, _Sampled]:
    """What was sampled of the weights after each step, by the name of the group."""
    table = trace.table.filter(trace.is_one_of("what", {"values"})).select(
        ["step", "name", "detail", "parts"]
    )
    found: dict[int, _Sampled] = {}
    for step, name, detail, parts in zip(*(column.to_pylist() for column in table.columns), strict=True):
        found.setdefault(step, {})[name or ""] = (json.loads(detail or "{}"), parts or b"")
    return found


def _ulps(a: _Sampled, b: _Sampled) -> dict[str, Any]:
    """The columns of a Distance that come from sampled weights."""
    import numpy as np

    apart, sampled, of = [], 0, 0
    for name in a.keys() & b.keys():
        (said, one), (other_said, other) = a[name], b[name]
        if said != other_said or len(one) != len(other) or said.get("dtype") not in _INTEGERS:
            continue
        kind = np.dtype(_INTEGERS[said["dtype"]])
        # The bits of a float, as an integer, are in the order of the numbers once negative ones are mirrored.
        ordered = []
        for raw in (one, other):
            bits = np.frombuffer(raw, kind).astype(object if kind.itemsize == 8 else np.int64)
            ordered.append(np.where(bits < 0, -(2 ** (8 * kind.itemsize - 1)) - bits, bits))
        distance = np.abs(ordered[0] - ordered[1])
        apart.append(distance[distance != 0].astype(np.float64))
        sampled, of = sampled + len(distance), of + int(said.get("of", 0))
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


_PART = 16  # bytes of a digest
_INTEGERS = {"float16": "<i2", "bfloat16": "<i2", "float32": "<i4", "float64": "<i8"}
