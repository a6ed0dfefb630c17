"""The RNG ledger: who drew how often, by generator, process, step and line of code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from samerun.comparing.circumstances import OWN
from samerun.comparing.processes import Recorded, read
from samerun.runs.schema import DRAWS
from samerun.runs.store import Run


@dataclass(frozen=True)
class Drawn:
    """The draws of one line from one generator in one step, in two runs."""

    generator: str  # a source id, e.g. "python-random"; "torch-cpu:generator" is one that the script made
    step: int
    process: str  # the stem of the trace, e.g. "rank0.worker1"
    call_site: str | None
    function: str | None  # e.g. "random.random", "aten.rand.default"
    draws_a: int
    draws_b: int
    state_differs: bool | None  # whether the generator's state differed before the first of these draws
    values_differ: bool  # whether what came out differs

    def to_json(self) -> Mapping[str, Any]:
        """Plain values."""
        return asdict(self)


def ledger(a: Run, b: Run, rank: int = 0) -> tuple[Drawn, ...]:
    """The draws that were recorded (at tier ops) in both runs, in the order of run A; () when none were.

    Workers are in it, each with its own generators. Lines on which the runs differ come first.
    """
    sides = [_Draws.of(read(run), rank) for run in (a, b)]
    lines = dict.fromkeys((*sides[0].lines, *sides[1].lines))
    rows = [_drawn(key, sides[0].lines.get(key), sides[1].lines.get(key)) for key in lines]
    return tuple(sorted(rows, key=lambda row: not (row.draws_a != row.draws_b or row.values_differ)))


_Key = tuple[str, int, str, str | None, str | None]  # generator, step, process, call site, function


@dataclass
class _Line:
    """The draws of one line in one step."""

    state: bytes | None  # of the generator as last written before the first of them
    values: list[bytes | None]


@dataclass(frozen=True)
class _Draws:
    """The draws of one run."""

    lines: dict[_Key, _Line]

    @classmethod
    def of(cls, recorded: Recorded, rank: int) -> _Draws:
        lines: dict[_Key, _Line] = {}
        for trace in recorded.of_rank(rank):
            states: dict[str, bytes | None] = {}
            own: str | None = None  # the script's own generator, written right before its draw
            drawing = trace.is_one_of("what", {"operation"}) & ((trace.flags & DRAWS) != 0)
            for row in trace.rows(trace.is_one_of("what", {"draw", "rng"}) | drawing):
                if row.what == "rng":
                    states[row.name or ""] = row.digest
                    own = row.name if OWN in (row.name or "") else None
                    continue
                generator = row.name if row.what == "draw" else own or _device(states)
                function = row.detail if row.what == "draw" else row.name
                own = None
                if generator is not None:
                    key = (generator, row.step, trace.stem, row.call_site, function)
                    line = lines.setdefault(key, _Line(states.get(generator), []))
                    line.values.append(row.digest)
        return cls(lines)


def _device(states: Mapping[str, bytes | None]) -> str | None:
    """The default generator of torch that was written last: the one that is being drawn from."""
    return next(
        (name for name in reversed(list(states)) if name.startswith("torch-") and OWN not in name), None
    )


def _drawn(key: _Key, a: _Line | None, b: _Line | None) -> Drawn:
    known = a is not None and b is not None and a.state is not None and b.state is not None
    return Drawn(
        *key,
        draws_a=len(a.values) if a else 0,
        draws_b=len(b.values) if b else 0,
        state_differs=(a.state != b.state) if known and a and b else None,
        values_differ=(a.values if a else []) != (b.values if b else []),
    )
