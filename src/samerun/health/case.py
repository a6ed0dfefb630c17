"""One run, as the notes on its seeds look at it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from samerun.comparing.pairing import RecordedRun
from samerun.health.attempts import may_be_of_one
from samerun.health.draws import Draws
from samerun.health.loaders import Loaders, read_loaders
from samerun.runs.reading import Trace
from samerun.runs.schema import WORKER

HEAD = "seed health: "


@dataclass(frozen=True)
class Process:
    """A process that trains."""

    trace: Trace
    draws: Draws
    loaders: Loaders


@dataclass(frozen=True)
class Case:
    """A run with its traces read."""

    recorded: RecordedRun

    @cached_property
    def processes(self) -> list[Process]:
        """Those that train, in the order of their ranks."""
        found = [Process(trace, Draws(trace), read_loaders(trace)) for trace in self.recorded.compared]
        return sorted(found, key=lambda process: (process.trace.rank, process.trace.stem))

    @cached_property
    def workers(self) -> list[Trace]:
        """The DataLoader workers that left a trace."""
        return [trace for trace in self.recorded.other if f".{WORKER}" in trace.stem]

    @cached_property
    def is_controlled(self) -> bool:
        """Whether samerun seeded the generators of this run, so that their states are not the script's."""
        return self.recorded.run.manifest.plan.get("control") is not None

    def replicas(self) -> Iterator[tuple[Process, Process]]:
        """Ranks that train one model on data of their own: the same parameters after a step, other inputs.

        Each with the first of its kind.
        """
        firsts: list[Process] = []
        for process in self.processes:
            first = next((item for item in firsts if _are_replicas(item, process)), None)
            if first is None:
                firsts.append(process)
            else:
                yield first, process


def _are_replicas(one: Process, other: Process) -> bool:
    if one.trace.rank == other.trace.rank or not may_be_of_one(one.trace, other.trace):
        return False
    a, b = one.draws, other.draws
    equal = [step for step in a.weights.keys() & b.weights.keys() if a.weights[step] == b.weights[step]]
    apart = [step for step in a.inputs.keys() & b.inputs.keys() if a.inputs[step] != b.inputs[step]]
    # One step of equal data may be chance (the last batch of few samples); data of their own differs in most.
    return bool(equal) and 2 * len(apart) > len(a.inputs.keys() & b.inputs.keys())


def format_site(site: str | None) -> str:
    """A line, for people."""
    return f" at {site}" if site else ""
