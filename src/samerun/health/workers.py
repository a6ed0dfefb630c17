"""DataLoader workers that draw alike: within a pass, in two passes, in two loaders, on two ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from samerun.health.case import HEAD, Case, Process, format_site
from samerun.health.draws import SEEDS
from samerun.health.loaders import Pass
from samerun.runs.details import parse_detail
from samerun.runs.difference import Row
from samerun.runs.reading import Trace

_MOST = 4  # generators that are named


@dataclass(frozen=True)
class _Worker:
    """What one worker drew from one generator for the first batch that took any of it."""

    process: Process  # that it loads for
    of: Pass
    number: str  # its stem: rank0.worker1
    generator: str
    states: tuple[bytes | None, int | None]  # before that batch, and after
    indices: str  # the digest of those of the batch
    drawn: bool  # nothing but draws has changed it in the making of the batch
    where: str | None  # of a generator that the dataset holds
    seeding: Row | None  # the last by the script before


def note(case: Case) -> Iterator[str]:
    """A line for each generator that two workers began with in one state, and drew from.

    Under a control the global ones begin anew for each sample: there it is those alone that a dataset holds.
    """
    groups: dict[tuple[object, ...], list[_Worker]] = {}
    for worker in _list_workers(case):
        if case.is_controlled and worker.where is None:
            continue
        groups.setdefault((worker.generator, worker.states), []).append(worker)
    replicas = {(id(one), id(other)) for one, other in case.replicas()}
    found: dict[tuple[str, str], tuple[_Worker, _Worker]] = {}
    for group in groups.values():
        for number, one in enumerate(group):
            for other in group[number + 1 :]:
                kind = _classify(one, other, replicas)
                if kind is not None:
                    found.setdefault((one.generator, kind), (one, other))
    said: dict[tuple[str, bool, bool, str | None], list[tuple[_Worker, _Worker]]] = {}
    for (generator, kind), (first, second) in found.items():
        within = (generator, "workers") in found
        if within and kind in ("passes", "ranks"):
            continue  # what follows from that is said with it
        again = within and (generator, "passes") in found
        site = None if first.seeding is None else first.seeding.call_site
        said.setdefault((kind, again, first.where is not None, site), []).append((first, second))
    for (kind, again, *_), pairs in said.items():
        yield _describe_shared(kind, *pairs[0], _name_generators(one for one, _ in pairs), again)


class StateDetail(msgspec.Struct):
    """What the detail of a state that a worker began with tells."""

    pid: int = -1
    indices: str | None = None  # the digest of those of its batch
    drawn: bool = False
    where: str | None = None


def _list_workers(case: Case) -> Iterator[_Worker]:
    for trace in case.workers:
        for row, seeding in _list_rows(trace):
            known = parse_detail(row.detail, StateDetail) or StateDetail()
            for process in case.processes:
                of = process.loaders.of(known.pid)
                if (
                    of is None
                    or of.loader not in process.loaders.training
                    or process.trace.rank != trace.rank
                ):
                    continue
                yield _Worker(
                    process,
                    of,
                    trace.stem,
                    row.name or "",
                    (row.digest, row.inputs),
                    str(known.indices),
                    known.drawn,
                    known.where,
                    seeding,
                )


def _list_rows(trace: Trace) -> Iterator[tuple[Row, Row | None]]:
    """The generators that a worker drew from, each with the seeding by the script before that."""
    seeds: list[Row] = []
    for row in trace.rows(trace.is_one_of("what", {"state", "seed"})):
        if row.what == "seed":
            seeds.append(row)
        elif row.inputs is not None and row.name is not None:
            name = row.name
            of = [
                seed
                for seed in seeds
                if ":" not in name and name.startswith(SEEDS.get(seed.name or "", "\0"))
            ]
            yield row, of[-1] if of else None


def _classify(one: _Worker, other: _Worker, replicas: set[tuple[int, int]]) -> str | None:
    """What two workers that began in one state should not have shared; None where that is as it should be."""
    if not (one.drawn and other.drawn):
        return None  # seeded for a sample: the sample decides
    apart = one.indices != other.indices
    if one.process is not other.process:
        pairs = {(id(one.process), id(other.process)), (id(other.process), id(one.process))}
        return "ranks" if apart and pairs & replicas else None
    if _number_training(one) != _number_training(other):
        return None
    if (one.of.loader, one.of.number) == (other.of.loader, other.of.number):
        return "workers" if apart or one.of.iterable else None
    if one.of.iterable:
        return None  # the same each time, as a fixed stream of data is
    same = one.of.loader == other.of.loader
    return "passes" if same or _is_made_anew(one, other) or _is_made_anew(other, one) else "loaders"


def _is_made_anew(one: _Worker, other: _Worker) -> bool:
    """Whether a loop makes its loader anew for each pass: the next begins where the one before ends."""
    return one.of.call_site == other.of.call_site and one.process.loaders.end(one.of.loader) < other.of.at


def _number_training(worker: _Worker) -> int:
    """Which training of its process it loads for: a fold, or a trial, may begin as the one before did."""
    return worker.process.draws.training(worker.of.at)


def _name_generators(workers: Iterable[_Worker]) -> list[str]:
    """Their ids, each once; of a dataset's own where they are too: `Noisy.rng (numpy-generator)`."""
    kinds = [(worker.where, worker.generator.partition(":")[0]) for worker in workers]
    return sorted({kind if where is None else f"{where} ({kind})" for where, kind in kinds})


def _describe_shared(kind: str, one: _Worker, other: _Worker, generators: list[str], again: bool) -> str:
    what = ", ".join(generators[:_MOST])
    if len(generators) > _MOST:
        what += f" and {len(generators) - _MOST} more"
    loop = f"the loop{format_site(one.of.call_site)}" if one.of.call_site else "a loader"
    line = ""
    if one.seeding is not None:
        value = "" if one.seeding.value is None else f" with {one.seeding.value:g}"
        line = f", seeded by {one.seeding.name}{format_site(one.seeding.call_site)}{value}"
    where = {
        "workers": f"workers of {loop} begin with {what} in the same state{line}, and draw from it",
        "passes": f"workers of {loop} begin with {what} in the same state in two passes over the data{line}",
        "loaders": (
            f"workers of two loaders, of {loop} and of the "
            f"one{format_site(other.of.call_site)}, begin with {what} in "
            f"the same state{line}"
        ),
        "ranks": (
            f"workers of ranks {one.process.trace.rank} and {other.process.trace.rank}, which load different "
            f"samples, begin with {what} in the same state{line}"
        ),
    }[kind]
    harm = {
        "workers": "samples get the augmentation of others" + (", and of the pass before" if again else ""),
        "passes": "samples get the augmentation of the pass before",
        "loaders": "samples of one get the augmentation of the other's",
        "ranks": "samples of one rank get the augmentation of the other's",
    }[kind]
    return f"{HEAD}{where}: {harm}. {_advise(kind, one, len(generators))}"


def _advise(kind: str, worker: _Worker, count: int) -> str:
    if worker.where:
        them = worker.where if count == 1 else "them"
        return (
            f"In worker_init_fn, make {them} anew from torch.initial_seed(), another number in each "
            "worker and pass"
        )
    if worker.seeding is not None:
        return (
            "Leave that out (torch seeds random, numpy and torch in each worker), or seed with "
            "torch.initial_seed() % 2**32"
        )
    if kind == "ranks":
        return "Give each rank's DataLoader a generator of its own, seeded with a hash of (seed, rank)"
    once = "Make the loader's generator once, outside of the loop, and one for each loader"
    return f"{once}; where a framework's worker_init_fn seeds the workers, give the loader one of your own"
