"""The traces of two runs, and which of them belong together."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace

from samerun.comparing.leave_out import leave_out
from samerun.errors import TraceError
from samerun.runs.ignored import LeftOut
from samerun.runs.reading import Trace, read_trace
from samerun.runs.schema import COMPARED, only_helps, takes_tasks
from samerun.runs.store import Run

_OF_A_POOL = re.compile(r"((Fork|Spawn|ForkServer)(Process|PoolWorker)|LokyProcess)-\d+")
_OF_TASKS = frozenset(["operation", "end"])


@dataclass(frozen=True)
class RecordedRun:
    """One run with its traces read."""

    run: Run
    compared: list[Trace] = field(default_factory=list)  # those with a record that decides
    other: list[Trace] = field(default_factory=list)  # evidence only, such as DataLoader workers
    unreadable: dict[str, str] = field(default_factory=dict)  # file name to what is wrong with it
    left_out: tuple[LeftOut, ...] = ()  # what its user ignores, and so is in none of these traces

    def of_rank(self, rank: int, first: Trace | None = None) -> list[Trace]:
        """The traces of one rank; `first`, where given, comes first."""
        of_rank = [trace for trace in self.compared + self.other if trace.rank == rank]
        return sorted(of_rank, key=lambda trace: trace is not first)

    def of_others(self, rank: int) -> list[Trace]:
        """The traces of all ranks but one."""
        return [trace for trace in self.compared + self.other if trace.rank != rank]


def read(run: Run) -> RecordedRun:
    """Read a run's traces, without what is to be ignored. Raises SchemaError for a version not known here."""
    recorded = RecordedRun(run)
    left_out: dict[LeftOut, None] = {}
    for path in run.trace_paths():
        try:
            trace, here = leave_out(read_trace(path), run.ignored)
        except TraceError as error:
            recorded.unreadable[path.name] = str(error)
            continue
        left_out.update(dict.fromkeys(here))
        (recorded.compared if _decides(trace) else recorded.other).append(trace)
    return replace(recorded, left_out=tuple(left_out))


def _decides(trace: Trace) -> bool:
    """Whether a trace holds what decides a verdict: not the operations alone of what takes tasks of a pool.

    Which of its workers gets a task is another one in each run, and a signal ends them; what they make comes
    back to who trains.
    """
    if only_helps(trace.stem):
        return False
    found = set(trace.words("what")).intersection(COMPARED)
    return bool(found - _OF_TASKS if takes_tasks(trace.stem) else found)


def is_of_a_pool(trace: Trace) -> bool:
    """Whether a process has the name that a pool, or nobody, gave it."""
    role = trace.meta.get("role")
    return isinstance(role, str) and _OF_A_POOL.fullmatch(role) is not None


def pair(a: list[Trace], b: list[Trace]) -> tuple[list[tuple[Trace, Trace]], list[Trace], list[Trace]]:
    """(traces of the same process of both runs, those that only a has, those that only b has).

    A process is known by its rank, its role, its command line and its place in the tree of processes. Names
    of files depend on which process came first; command lines may differ between runs (a port), and places
    where a shell starts several at once, so what is left over is paired by less.
    """
    pairs: list[tuple[Trace, Trace]] = []
    for key in (_read_whole, _read_program, _read_placed_role, _read_role):
        found, a, b = _pair_by(key, a, b)
        pairs += found
    return sorted(pairs, key=lambda both: (both[0].rank, both[0].stem)), a, b


def _pair_by(
    key: Callable[[Trace], Hashable], a: list[Trace], b: list[Trace]
) -> tuple[list[tuple[Trace, Trace]], list[Trace], list[Trace]]:
    waiting: dict[Hashable, list[Trace]] = {}
    for trace in sorted(b, key=_read_ordinal):
        waiting.setdefault(key(trace), []).append(trace)
    pairs, only_a = [], []
    for trace in sorted(a, key=_read_ordinal):
        if same := waiting.get(key(trace)):
            pairs.append((trace, same.pop(0)))
        else:
            only_a.append(trace)
    return pairs, only_a, [trace for left in waiting.values() for trace in left]


def _read_identity(trace: Trace) -> list[str]:
    """rank|role|digest of the command line|ordinal, as the recorder wrote it; else made of the stem."""
    text = trace.meta.get("pair")
    parts = text.split("|") if isinstance(text, str) else []
    return parts if len(parts) == 4 else [str(trace.rank), trace.stem, "", "0"]


def _read_whole(trace: Trace) -> Hashable:
    return _read_program(trace), repr(trace.meta.get("place"))


def _read_placed_role(trace: Trace) -> Hashable:
    return _read_role(trace), repr(trace.meta.get("place"))


def _read_program(trace: Trace) -> Hashable:
    return tuple(_read_identity(trace)[:3])


def _read_role(trace: Trace) -> Hashable:
    return tuple(_read_identity(trace)[:2])


def _read_ordinal(trace: Trace) -> tuple[int, str]:
    *_, ordinal = _read_identity(trace)
    return int(ordinal) if ordinal.isdecimal() and len(ordinal) < 10 else 0, trace.stem
