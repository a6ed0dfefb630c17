"""Every sample, or every batch, is made with the same draws: it is seeded with one number each time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from samerun.health.case import HEAD, Case
from samerun.health.draws import SEEDS, Draws
from samerun.health.loaders import Loaders
from samerun.health.workers import StateDetail
from samerun.runs.details import parse_detail
from samerun.runs.difference import Row
from samerun.runs.reading import Trace

_LEAST = 4  # seedings of one line with draws after each


@dataclass
class _Line:
    """The seedings of one line while data was made."""

    seeds: set[bytes]
    used: int  # with draws after them
    steps: set[int]
    row: Row


def note(case: Case) -> Iterator[str]:
    """A line for each place that does so while training data is made."""
    told: set[str | None] = set()
    for trace, loaders in _list_traces(case):
        for line in _list_lines(trace, loaders):
            several = loaders is None or line.used > len(line.steps)  # in one step, so for single samples
            if len(line.seeds) == 1 and line.used >= _LEAST and several and line.row.call_site not in told:
                told.add(line.row.call_site)
                yield _describe_seeding(line.row)


def _list_traces(case: Case) -> Iterator[tuple[Trace, Loaders | None]]:
    """Processes that make training data; with their loaders those that make other data too."""
    for process in case.processes:
        if process.loaders.training:
            yield process.trace, process.loaders
        for worker in case.workers:
            states = worker.rows(worker.is_one_of("what", {"state"}))
            pids = {known.pid for row in states if (known := parse_detail(row.detail, StateDetail))}
            passes = [process.loaders.of(pid) for pid in pids]
            if any(item is not None and item.loader in process.loaders.training for item in passes):
                yield worker, None


def _list_lines(trace: Trace, loaders: Loaders | None) -> list[_Line]:
    """Each line that seeds a global generator while data is made, with what was drawn after."""
    found: dict[tuple[str | None, str | None], _Line] = {}
    last: dict[str, tuple[_Line, bytes | None]] = {}  # what a generator was seeded by last, its state then
    pending: Row | None = None
    for at, row in Draws(trace).rows:
        name = row.name or ""
        if row.what == "seed":
            made = loaders is None or (row.phase == "data" and loaders.trains_with(at))
            pending = row if made else None
        elif row.what == "state" and row.detail == "seeded":
            last.pop(name, None)
            if pending is not None and name.startswith(SEEDS.get(pending.name or "", "\0")):
                key = pending.name, pending.call_site
                line = found.setdefault(key, _Line(set(), 0, set(), pending))
                line.seeds.add(pending.digest or b"")
                last[name] = line, row.digest
        elif name in last and row.digest != last[name][1]:
            line, _ = last.pop(name)
            line.used += 1
            line.steps.add(row.step)
    return list(found.values())


def _describe_seeding(row: Row) -> str:
    value = "" if row.value is None else f" with {row.value:g}"
    return (
        f"{HEAD}{row.name} at {row.call_site or 'an unknown line'} seeds anew{value} for each sample: "
        "all samples get the same augmentation. Leave it out: DataLoader seeds its workers; or draw from a "
        "generator seeded with (seed, epoch, index)"
    )
