"""The RNG ledger: who drew how often, by generator, process, step and line of code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from samerun.comparing import operations
from samerun.comparing.pairing import RecordedRun, pair, read
from samerun.runs.reading import Trace
from samerun.runs.schema import DRAWS
from samerun.runs.store import Run
from samerun.runs.untrusted import parse_json
from samerun.sources.torch_cpu import TorchCpu


@dataclass(frozen=True)
class DrawCount:
    """The draws of one line from one generator in one step, in two runs."""

    generator: str  # a source id, e.g. "python-random"; "torch-cpu:generator" is one that the script made
    step: int  # in a DataLoader worker: the number of the batch, from 0 on, among those that it made
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


class _Key(NamedTuple):
    generator: str
    step: int
    call_site: str | None
    function: str | None


@dataclass
class _Draws:
    """Those of one key in one run."""

    count: int
    before: int | None  # 64 bits over the state before the first of them
    came: tuple[bytes | None, ...]


def build_ledger(a: Run, b: Run, rank: int = 0) -> tuple[DrawCount, ...]:
    """The draws that were recorded in both runs, in the order of run A; () when none were.

    At tier `ops` they are all there: of Python's and NumPy's generators and in workers from the start of the
    process on, of torch's in the steps of the window. Where one run goes further than the other, what comes
    after that is left out.
    """
    one, other = (_select_rank(read(run), rank) for run in (a, b))
    found: list[DrawCount] = []
    for trace_a, trace_b in _pair_traces(one, other):
        window = operations.intersect(operations.find_window(a, trace_a), operations.find_window(b, trace_b))
        if window is not None:
            found += _process(trace_a, trace_b, window)
    return tuple(found)


def _select_rank(recorded: RecordedRun, rank: int) -> tuple[list[Trace], list[Trace]]:
    """(the processes that decide, the others) of one rank."""
    main, others = (
        [trace for trace in traces if trace.rank == rank] for traces in (recorded.compared, recorded.other)
    )
    return main, others


def _pair_traces(
    a: tuple[list[Trace], list[Trace]], b: tuple[list[Trace], list[Trace]]
) -> Iterator[tuple[Trace, Trace]]:
    main, _, _ = pair(a[0], b[0])
    yield from main
    others = {trace.stem: trace for trace in b[1]}
    for trace in a[1]:
        if trace.stem in others:
            yield trace, others[trace.stem]


def _process(a: Trace, b: Trace, window: operations.Window) -> Iterator[DrawCount]:
    one, other = (dict(_draws(trace, window)) for trace in (a, b))
    last = min(_find_last(a, one), _find_last(b, other))
    for key in _merge_keys(one, other):
        if key.step > last:
            continue
        in_a, in_b = one.get(key), other.get(key)
        known = in_a is not None and in_b is not None and None not in (in_a.before, in_b.before)
        yield DrawCount(
            generator=key.generator,
            step=key.step,
            process=a.stem,
            call_site=key.call_site,
            function=key.function,
            draws_a=0 if in_a is None else in_a.count,
            draws_b=0 if in_b is None else in_b.count,
            state_differs=in_a.before != in_b.before if known and in_a and in_b else None,
            values_differ=in_a is None or in_b is None or in_a.came != in_b.came,
        )


def _find_last(trace: Trace, draws: Mapping[_Key, _Draws]) -> int:
    """The last step that a process reached, or the last batch that a worker made."""
    if ".worker" in trace.stem:
        return max((key.step for key in draws), default=-1)
    return int(trace.steps.max(initial=-1))


def _merge_keys(a: Iterable[_Key], b: Iterable[_Key]) -> list[_Key]:
    """The keys of both: those of a in their order, and those of b alone after what precedes them there."""
    merged = list(a)
    places = {key: place for place, key in enumerate(merged)}
    after: dict[int, list[_Key]] = {}
    place = -1
    for key in b:
        if key in places:
            place = places[key]
        else:
            after.setdefault(place, []).append(key)
    found = after.get(-1, [])
    for at, key in enumerate(merged):
        found += [key, *after.get(at, ())]
    return found


def _draws(trace: Trace, window: operations.Window) -> dict[_Key, _Draws]:
    """The draws of one process, in the order of their first."""
    import numpy as np

    found: dict[_Key, _Draws] = {}
    states: dict[str, int] = {}  # of torch's generators, as written last
    within = set(operations.find_positions(trace, window, None).tolist())
    wanted = trace.is_one_of("what", {"draw", "rng"})
    wanted |= trace.is_one_of("what", {"operation"}) & ((trace.flags & DRAWS) != 0)
    for at, row in zip(np.flatnonzero(wanted).tolist(), trace.rows(wanted), strict=True):
        name = row.name or ""
        if row.what == "rng":
            states[name] = int.from_bytes((row.digest or b"")[:8], "little")
        elif row.what == "draw":
            function, batch = _parse_detail(row.detail)
            key = _Key(name, row.step if batch is None else batch, row.call_site, function)
            before = states.get(name) if row.inputs is None else row.inputs
            _add(found, key, _Draws(int(row.value or 1), before, (row.digest,)))
        elif at in within:
            generator = row.detail or TorchCpu.id
            key = _Key(generator, row.step, row.call_site, row.name)
            _add(found, key, _Draws(1, states.get(generator), (row.digest,)))
    return found


def _add(found: dict[_Key, _Draws], key: _Key, more: _Draws) -> None:
    known = found.setdefault(key, more)
    if known is not more:
        known.count += more.count
        known.came += more.came


def _parse_detail(detail: str | None) -> tuple[str | None, int | None]:
    """The function of a draw, and in a worker the number of its batch."""
    try:
        said = parse_json(detail or "")
    except ValueError:
        return detail, None
    if not isinstance(said, dict):
        return None, None
    function, batch = said.get("function"), said.get("batch")
    return function if isinstance(function, str) else None, batch if isinstance(batch, int) else None
