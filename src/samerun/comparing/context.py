"""What is known around a first difference: samples, random generators, and what each run says of itself."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from samerun.comparing.alignment import Divergence, TracePair
from samerun.runs.details import parse_detail
from samerun.runs.difference import Row, Side
from samerun.runs.reading import Trace
from samerun.runs.schema import DRAWS, EVIDENCE, HELPER, only_helps, takes_tasks
from samerun.runs.store import Run
from samerun.sources.catalogue import find_sources

OWN = ":"  # "torch-cpu:generator" is a generator that the script made, of the source torch-cpu
_MOST_DRAWS = 1_000  # of torch's, in one worker of a pool
_MOST_EVIDENCE = 20_000  # rows on each side: the earliest and the latest half of more


@dataclass(frozen=True)
class Samples:
    """The samples of the batch at the difference (fields as in runs.difference.Difference)."""

    indices_equal: bool | None = None
    same_samples: bool | None = None
    in_workers: bool | None = None
    reordered: bool = False  # both batches are there in the other run too, at another place


def find_samples(paired: TracePair, divergence: Divergence, step: int) -> Samples:
    """What the batch at or before the difference was made of."""
    sides = [_Batch.of(trace, at, step) for trace, at in ((paired.a, divergence.a), (paired.b, divergence.b))]
    a, b = sides
    if a.indices is None or b.indices is None:
        reordered = _is_reordered(a, b)
        return Samples(same_samples=True if reordered else None, reordered=reordered)
    one, other = paired.a.row(a.indices), paired.b.row(b.indices)
    equal = one.digest is not None and one.digest == other.digest
    reordered = not equal and _is_reordered(a, b)
    permuted = one.inputs is not None and one.inputs == other.inputs
    workers = [_uses_workers(row) for row in (one, other)]
    in_workers = None if None in workers else any(workers) and not _are_equal(a, b)
    return Samples(equal, equal or permuted or reordered, in_workers, reordered)


def _are_equal(a: _Batch, b: _Batch) -> bool:
    """Whether the batches are, so that what differs was made of them in the training process."""
    digest = a.read_digest()
    return digest is not None and digest == b.read_digest()


@dataclass(frozen=True)
class _Batch:
    """The batch of one run at the difference: where its record and that of its indices are."""

    trace: Trace
    batch: int | None
    indices: int | None

    @classmethod
    def of(cls, trace: Trace, at: int | None, step: int) -> _Batch:
        import numpy as np

        batches = np.flatnonzero(trace.is_one_of("what", {"batch"}))
        if at is None:
            batches = batches[trace.steps[batches] <= step]
        else:
            batches = batches[batches <= at]
        if not len(batches):
            return cls(trace, None, None)
        batch = int(batches[-1])
        start = int(batches[-2]) + 1 if len(batches) > 1 else 0
        found = np.flatnonzero(trace.is_one_of("what", {"indices"})[start:batch])
        return cls(trace, batch, start + int(found[-1]) if len(found) else None)

    def read_digest(self) -> bytes | None:
        """That of the batch, where it has one."""
        return None if self.batch is None else self.trace.row(self.batch).digest

    def following(self) -> list[bytes | None]:
        """The digests of this batch and of all after it."""
        import numpy as np

        assert self.batch is not None
        rows = np.flatnonzero(self.trace.is_one_of("what", {"batch"}))
        rows = rows[rows >= self.batch]
        words, there = self.trace.digests
        return [words[row].tobytes() if there[row] else None for row in rows.tolist()]


def _is_reordered(a: _Batch, b: _Batch) -> bool:
    """Whether the batches from here on are mostly the same, in another order, these two among them."""
    if a.batch is None or b.batch is None:
        return False
    one, other = a.following(), b.following()
    if one[0] == other[0] or None in (one[0], other[0]):
        return False
    shared = sum((Counter(one) & Counter(other)).values())
    return one[0] in other and other[0] in one and 2 * shared >= min(len(one), len(other))


def _uses_workers(row: Row) -> bool | None:
    """Whether the batch came from worker processes; None when its record does not say."""
    count = (parse_detail(row.detail, dict[str, Any]) or {}).get("workers")
    return None if count is None else bool(count)


class Generators(NamedTuple):
    """What two runs say of their RNGs, by the ids of sources, up to the difference."""

    first: dict[str, int]  # the first step at which each one's state differs
    drawn: frozenset[str]  # those that were drawn from
    agreed: frozenset[str]  # those whose states were the same at some time, whatever they were otherwise


def find_generators(paired: TracePair, divergence: Divergence, step: int) -> Generators:
    """The RNGs up to the difference.

    A state is written at the start of a step, or before a draw, when it changed since it was last written.
    """
    a = _States.of(paired.a, divergence.at_a(), step)
    b = _States.of(paired.b, divergence.at_b(), step)
    first: dict[str, int] = {}
    agreed: set[str] = set()
    equal: set[str] = set()  # generators of the script's own: their use says nothing of the shared one
    for name in sorted(a.by_step.keys() & b.by_step.keys()):
        one, other = a.by_step[name], b.by_step[name]
        agreed.update([] if _list_known(one).isdisjoint(_list_known(other)) else [name])
        now_a: list[_State] = []
        now_b: list[_State] = []
        for at in sorted(one.keys() | other.keys()):
            now_a, now_b = one.get(at, now_a[-1:]), other.get(at, now_b[-1:])
            if _has_parted(now_a, now_b):
                source = name.split(OWN)[0]
                first[source] = min(at, first.get(source, at))
                break
        else:
            equal.update([name] if OWN in name else [])
    # A generator that the script seeds with another seed each time has fed whatever comes after.
    otherwise = {name for name in a.seeded.keys() & b.seeded.keys() if a.seeded[name] != b.seeded[name]}
    drawn = (a.drawn | b.drawn) - equal
    return Generators(first, frozenset(name.split(OWN)[0] for name in drawn | otherwise), frozenset(agreed))


def _list_known(states: Mapping[int, Sequence[_State]]) -> set[tuple[bytes | None, bytes | None]]:
    return {(None if state.now else state.seed, state.now) for each in states.values() for state in each}


@dataclass(frozen=True)
class _State:
    """One RNG's state: what it was seeded with last by the script, and the digest of what is there now.

    The second is None from a seeding on until a state is written, which can be later in one run than in the
    other: then the seeds tell.
    """

    seed: bytes | None
    now: bytes | None

    def differs(self, other: _State) -> bool:
        if self.now is None or other.now is None:
            return self.seed != other.seed
        return self.now != other.now


def _has_parted(a: Sequence[_State], b: Sequence[_State]) -> bool:
    """Whether a generator's states of one step in two runs have come to differ.

    The latest count, since a script seeds before it trains. One run may be a few draws ahead of the other.
    """
    if not a or not b:
        return False
    ahead = any(not a[-1].differs(state) for state in b) or any(not b[-1].differs(state) for state in a)
    return not ahead


@dataclass(frozen=True)
class _States:
    """The states of one run's RNGs."""

    by_step: dict[str, dict[int, list[_State]]]  # in each step, one after the other
    drawn: set[str]  # those that were used
    seeded: dict[str, list[bytes]]  # what each was seeded with by the script, in order

    @classmethod
    def of(cls, trace: Trace, before: int, step: int) -> _States:
        """As written up to the record at `before`, and what `step` left behind.

        A seeding is a new state too, known by its seed until a state is written.
        """
        import numpy as np

        mask = trace.is_one_of("what", {"rng", "draw", "seed"}) & (trace.steps <= step + 1)
        by_step: dict[str, dict[int, list[_State]]] = {}
        changes: dict[str, int] = {}
        drawn: set[str] = set()
        seeded: dict[str, list[bytes]] = {}
        over: set[str] = set()  # seeded after the difference: what is drawn from then on had no part in it
        rows = trace.rows(mask)
        there = {row.name for row in rows if row.what == "rng"}
        for at, row in zip(np.flatnonzero(mask).tolist(), rows, strict=True):
            if row.name is None or row.digest is None:
                continue
            # A draw from an object that the script made says nothing of the shared generator of that kind.
            used = row.what == "draw" and OWN not in row.name
            if used or (OWN in row.name and row.name.startswith("torch-")):
                drawn.update([row.name] if row.step <= step else [])
            if row.what == "draw":
                continue
            names: Sequence[str] = (row.name,)
            if row.what == "seed":  # of every device's generator: those count whose device is in use
                names = _map_seeding_functions().get(row.name, ())
                names = [name for name in names if len(names) == 1 or name in there]
            for name in names:
                if row.what == "seed":
                    seeded.setdefault(name, []).append(row.digest)
                    changes[name] = -1  # the next state written is what the seed made of it
                    over.update([name] if at >= before else [])
                else:
                    changes[name] = changes.get(name, -1) + 1
                    drawn.update([name] if changes[name] > 0 and name not in over else [])
                if row.step <= step and (at < before or name not in by_step):
                    known = by_step.setdefault(name, {})
                    seeds = seeded.get(name)
                    state = _State(seeds[-1] if seeds else None, None if row.what == "seed" else row.digest)
                    known.setdefault(row.step, []).append(state)
        drawn |= _find_drawn_torch_generators(trace, before, by_step)
        return cls(by_step, drawn, seeded)


def _find_drawn_torch_generators(trace: Trace, before: int, known: Mapping[str, object]) -> set[str]:
    """torch's default generators, where an operation that draws random numbers came before."""
    flags = trace.flags[:before][trace.is_one_of("what", {"operation"})[:before]]
    used = bool((flags & DRAWS).any())
    return {name for name in known if name.startswith("torch-") and OWN not in name} if used else set()


@functools.cache
def _map_seeding_functions() -> Mapping[str, tuple[str, ...]]:
    """The sources that each seeding function, as named in "seed" rows, gives a new state."""
    found: dict[str, tuple[str, ...]] = {}
    for id_, source in find_sources().items():
        for function in getattr(source, "seeded_by", ()):
            found[function] = (*found.get(function, ()), id_)
    return found


def build_side(
    run: Run,
    traces: Sequence[Trace],
    step: int,
    before: int = 0,
    counted: int = 0,
    others: Sequence[Trace] = (),
) -> Side:
    """What a run says of itself up to and including `step`; `traces` are those of one rank, its own first.

    In that one, what stands before the record at `before` counts as well: an evaluation belongs to the step
    that is over. What the run wrote is given to its end: a later run can have found it. Draws are given up to
    the step `counted` as well. Of `others`, which are those of other ranks, only what they wrote is given.
    """
    import numpy as np

    settings: dict[str, Mapping[str, Any]] = dict(run.manifest.settings)
    evidence: list[Row] = []
    for trace in traces:
        until = (trace.steps <= step) | trace.is_one_of("what", {"written"})
        if trace is traces[0]:
            until |= np.arange(len(trace)) < before
            until |= (trace.steps <= counted) & trace.is_one_of("what", {"draw"})
        rows = trace.rows(trace.is_one_of("what", set(EVIDENCE)) & until)
        evidence += rows
        if takes_tasks(trace.stem) and trace is not traces[0]:
            evidence += _list_torch_draws(trace)
        if trace is traces[0]:  # a worker's settings are its own
            first = reversed(trace.rows(trace.is_one_of("what", {"setting"})))
            settings.update(_collect_settings(first))  # where threads race they can be written a step late
            settings.update(_collect_settings(rows))
    if len(evidence) > _MOST_EVIDENCE:
        half = _MOST_EVIDENCE // 2
        evidence = evidence[:half] + evidence[-half:]
    words = _read_argv(traces[0]) if traces else ()
    programs = {trace.stem: _read_argv(trace) for trace in traces if f".{HELPER}" in trace.stem}
    variables = traces[0].meta.get("variables") if traces else None
    given = (
        {str(name): str(value) for name, value in variables.items()} if isinstance(variables, dict) else {}
    )
    elsewhere = [row for trace in others for row in trace.rows(trace.is_one_of("what", {"written"}))]
    return Side(
        run.manifest.to_dict(),
        settings,
        tuple(evidence),
        words,
        given,
        programs,
        tuple(elsewhere[:_MOST_EVIDENCE]),
        _count_drawing(traces),
    )


def _count_drawing(traces: Sequence[Trace]) -> Mapping[str, int]:
    """By generator: how many other programs of the first one's script draw from it, and do not seed it."""
    found: Counter[str] = Counter()
    for trace in traces[1:]:
        if (
            only_helps(trace.stem)
            or takes_tasks(trace.stem)
            or _find_script(trace) != _find_script(traces[0])
        ):
            continue
        states: dict[str, set[bytes | None]] = {}
        for row in trace.rows(trace.is_one_of("what", {"rng"})):
            states.setdefault(row.name or "", set()).add(row.digest)
        seedings = trace.rows(trace.is_one_of("what", {"seed"}))
        seeded = {id_ for row in seedings for id_ in _map_seeding_functions().get(row.name or "", ())}
        found.update(id_ for id_, several in states.items() if len(several) > 1 and id_ not in seeded)
    return dict(found)


def _list_torch_draws(trace: Trace) -> list[Row]:
    """The draws of a worker of a pool that are operations, as those from other generators stand."""
    draws = trace.is_one_of("what", {"operation"}) & ((trace.flags & DRAWS) != 0)
    return [replace(row, what="draw", name=row.detail) for row in trace.rows(draws)[:_MOST_DRAWS]]


def _find_script(trace: Trace) -> str | None:
    """The script, or the module, that Python was started with."""
    return next((word for word in _read_argv(trace)[1:] if not word.startswith("-")), None)


def _read_argv(trace: Trace) -> tuple[str, ...]:
    argv = trace.meta.get("argv")
    return tuple(map(str, argv)) if isinstance(argv, list) else ()


def _collect_settings(rows: Iterable[Row]) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if row.what == "setting" and row.name is not None:
            described = parse_detail(row.detail, dict[str, Any])
            if described is not None:
                found[row.name] = described
    return found
