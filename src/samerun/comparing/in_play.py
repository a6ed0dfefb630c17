"""Which sources a run used that nothing controlled, and which of them may go another way in any run."""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from samerun.comparing.context import OWN
from samerun.comparing.pairing import RecordedRun, read
from samerun.comparing.uncontrolled import SourceUse, is_controlled, list_uncontrolled
from samerun.editing.edit import NoEdit
from samerun.editing.source_file import get_last_name
from samerun.editing.user_program import Code
from samerun.runs.details import parse_detail
from samerun.runs.difference import Row
from samerun.runs.reading import Trace
from samerun.runs.schema import DRAWS, takes_tasks
from samerun.runs.source_lines import parse_site
from samerun.runs.store import Run
from samerun.sources.base.rng import Rng
from samerun.sources.catalogue import find_sources
from samerun.sources.clock import Clock
from samerun.sources.code import Code as UserCode
from samerun.sources.edits.compared_reads import list_compared_reads
from samerun.sources.edits.run_dependent_calls import reads_clock
from samerun.sources.evidence.hash_order import find_set_of_texts
from samerun.sources.hash_seed import VARIABLE, HashSeed
from samerun.sources.numpy_generator import NumpyGenerator
from samerun.sources.numpy_global import NumpyGlobal
from samerun.sources.os_entropy import OsEntropy
from samerun.sources.per_sample.pool_tasks import SEEDED
from samerun.sources.python_random import PythonRandom
from samerun.sources.source import Kind, Source
from samerun.sources.worker_arrival import WorkerArrival
from samerun.sources.worker_seeds import WorkerSeeds

_MOST_FILES = 60  # of the code that are read for sets: of many hundred that takes a minute
_OWN = {  # sources of generators that the script makes, and what their draws are called
    NumpyGenerator.id: (NumpyGenerator.id, f"{NumpyGlobal.id}{OWN}generator"),
    OsEntropy.id: (f"{PythonRandom.id}{OWN}generator",),
}
_UNSEEDED = "a generator without a seed"
_ON_HOST = (PythonRandom.id, NumpyGlobal.id, *_OWN)
_FREE = (WorkerSeeds.id, PythonRandom.id, NumpyGlobal.id)
_MAKERS = ("default_rng", "RandomState", "Generator", "Random")
_TIMERS = ("signal.", "threading.")  # how the names of timers begin, which act by themselves


def list_in_play(recorded: RecordedRun) -> list[SourceUse]:
    """Those of `list_uncontrolled`, workers whose batches come as they are ready, pools that draw, and hashes
    of texts where the code goes through a set.

    Without a clock that is read by a library which the script calls, such as a progress bar.
    """
    found = list_used_by_code(recorded)
    arrives = WorkerArrival.id
    said = recorded.run.manifest.settings.get(arrives, {})
    if said.get("in_order") is False and not is_controlled(recorded, arrives):
        found = [*(item for item in found if item.source != arrives), SourceUse(arrives, ())]
    draws = _list_draws_in_pools(recorded)
    if is_controlled(recorded, WorkerSeeds.id):
        draws = tuple((name, site) for name, site in draws if name not in SEEDED)
    if draws:
        found.append(SourceUse(WorkerSeeds.id, draws))
    found += _list_unseeded_draws(recorded)
    if loops := _list_loops_over_sets(recorded):
        found.append(SourceUse(HashSeed.id, loops))
    joined: dict[str, tuple[tuple[str, str | None], ...]] = {}
    for use in found:
        joined[use.source] = tuple(dict.fromkeys((*joined.get(use.source, ()), *use.uses)))
    return [SourceUse(*item) for item in joined.items()]


def list_used_by_code(recorded: RecordedRun) -> list[SourceUse]:
    """Those of `list_uncontrolled`, without the reads of a clock by libraries that the script calls."""
    found = (
        use if use.source != Clock.id else SourceUse(use.source, _list_own_reads(use, recorded))
        for use in list_uncontrolled(recorded)
    )
    return [use for use in found if use.uses]


def _list_loops_over_sets(recorded: RecordedRun) -> tuple[tuple[str, str | None], ...]:
    """Where a set that may hold texts gives an order, and nobody has fixed their hashes."""
    manifest = recorded.run.manifest
    hashes, files = (manifest.settings.get(id_) for id_ in (HashSeed.id, UserCode.id))
    if not isinstance(hashes, dict) or not isinstance(files, dict):
        return ()
    if hashes.get(VARIABLE) or is_controlled(recorded, HashSeed.id):
        return ()
    digests = tuple((path, str(digest)) for path, digest in itertools.islice(files.items(), _MOST_FILES))
    site = _find_set_of_texts(manifest.cwd, manifest.command, digests)
    return () if site is None else (("a set", site),)


@functools.lru_cache(maxsize=16)  # it is asked for several times of one run
def _find_set_of_texts(
    folder: str, command: tuple[str, ...], digests: tuple[tuple[str, str], ...]
) -> str | None:
    return find_set_of_texts(Code(Path(folder), command, dict.fromkeys((path for path, _ in digests), "")))


def _list_draws_in_pools(recorded: RecordedRun) -> tuple[tuple[str, str | None], ...]:
    """What several workers of a pool draw from, and where: which of them takes a task is a race."""
    of_workers = [
        {(_name_generator(row), row.call_site): None for row in trace.rows(_find_draws(trace))}
        for trace in recorded.other
        if takes_tasks(trace.stem)
    ]
    drawing = [draws for draws in of_workers if draws]
    return tuple(dict.fromkeys(draw for draws in drawing for draw in draws)) if len(drawing) > 1 else ()


def _list_unseeded_draws(recorded: RecordedRun) -> Iterator[SourceUse]:
    """What the code itself drew on the host from generators that nobody had seeded.

    A number that only chooses one of a few ways is the same in many runs. What is drawn on tensors is seen.
    """
    manifest = recorded.run.manifest
    for source in find_sources().values():
        if source.id not in _ON_HOST or is_controlled(recorded, source.id):
            continue
        draws = [use for trace in recorded.compared for use in _list_unseeded(trace, source)]
        code = Code(Path(manifest.cwd), manifest.command, dict.fromkeys(map(_find_path, draws), ""))
        if uses := tuple(use for use in dict.fromkeys(draws) if _is_called_there(code, *use)):
            yield SourceUse(source.id, uses)


def _list_unseeded(trace: Trace, source: Source) -> Iterator[tuple[str, str | None]]:
    """The function and the line of each draw; of a generator of the script's own, those of its making."""
    if ".worker" in trace.stem:  # torch seeds those
        return
    rows = [row for row in trace.rows(trace.is_one_of("what", {"seed", "unseeded", "draw"})) if row.call_site]
    if source.id in _OWN:
        yield from _list_made(rows, source.id)
        return
    names = source.seeded_by if isinstance(source, Rng) else ()
    seeded = False
    for row in rows:
        if row.what == "seed":
            seeded |= row.name in names
        elif row.name == source.id and row.what == "unseeded":
            seeded = False
        elif row.name == source.id and not seeded:
            detail = parse_detail(row.detail, dict[str, Any]) or {}
            yield str(detail.get("function", "")), row.call_site


def _list_made(rows: Sequence[Row], id_: str) -> Iterator[tuple[str, str | None]]:
    """The lines that make generators without a seed, where such a one is drawn from afterwards."""
    of_globals = {row.call_site for row in rows if (row.what, row.name) == ("unseeded", NumpyGlobal.id)}
    made: dict[tuple[str, str | None], None] = {}
    for row in rows:
        if row.what == "unseeded" and row.name == id_ and row.call_site not in of_globals:
            made[_UNSEEDED, row.call_site] = None
        elif row.what == "draw" and row.name in _OWN[id_]:
            yield from made


def _find_path(use: tuple[str, str | None]) -> str:
    at = parse_site(use[1])
    return "" if at is None else at[0]


def _is_called_there(code: Code, name: str, site: str | None) -> bool:
    """Whether the line calls it itself: it may call a library that draws, as an import does."""
    try:
        _, expressions = code.expressions(site)
    except NoEdit:
        return False
    return any(
        isinstance(node, ast.Call) and get_last_name(node) in (name.rpartition(".")[2], *_MAKERS)
        for node in expressions
    )


def _name_generator(row: Row) -> str:
    return (row.detail if row.what == "operation" else row.name) or ""


def _find_draws(trace: Trace) -> Any:
    operations = trace.is_one_of("what", {"operation"}) & ((trace.flags & DRAWS) != 0)
    return trace.is_one_of("what", {"draw"}) | operations


def list_ids(run: Run) -> tuple[str, ...]:
    """The ids of what is in play in a run."""
    return tuple(use.source for use in list_in_play(read(run)))


def list_free_running(recorded: RecordedRun) -> list[str]:
    """The ids of those that race, and of a clock that decides: a few runs of them may agree by luck.

    A clock decides where a timer is set, or a line compares what it gave. What is only printed, or measured
    by a library, does not.
    """
    return [use.source for use in list_in_play(recorded) if _runs_free(use, recorded)]


def _runs_free(use: SourceUse, recorded: RecordedRun) -> bool:
    if find_sources()[use.source].kind is Kind.ORDER or use.source in _FREE:
        return True
    if any(name == _UNSEEDED for name, _ in use.uses):
        return True
    if use.source != Clock.id:
        return False
    if any(name.startswith(_TIMERS) for name, _ in use.uses):
        return True
    return _decides({site for _, site in use.uses if site is not None}, recorded)


def _list_own_reads(use: SourceUse, recorded: RecordedRun) -> tuple[tuple[str, str | None], ...]:
    """The uses at whose lines the code itself reads a clock, as far as it is there to be read."""
    manifest = recorded.run.manifest
    paths = [at[0] for _, site in use.uses if (at := parse_site(site)) is not None]
    code = Code(Path(manifest.cwd), manifest.command, dict.fromkeys(paths, ""))
    return tuple((name, site) for name, site in use.uses if _reads_itself(code, name, site))


def _reads_itself(code: Code, name: str, site: str | None) -> bool:
    try:
        file, expressions = code.expressions(site)
    except NoEdit:
        return True
    return name.startswith(_TIMERS) or any(reads_clock(file, node) for node in expressions)


def _decides(sites: Collection[str], recorded: RecordedRun) -> bool:
    """Whether the code compares what a clock gave at one of these lines."""
    parsed = [at for at in map(parse_site, sites) if at is not None]
    manifest = recorded.run.manifest
    code = Code(Path(manifest.cwd), manifest.command, dict.fromkeys((path for path, _ in parsed), ""))
    for path in {path for path, _ in parsed}:
        try:
            file = code.file(path)
            compared = {node.lineno for node in list_compared_reads(file)}
        except NoEdit:  # it is not known what the line does; most are there to measure
            continue
        if compared & {line for other, line in parsed if other == path}:
            return True
    return False
