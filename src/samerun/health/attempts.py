"""Which processes are of one attempt: a job that is put into the queue again trains twice within a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from samerun.runs.reading import Trace

if TYPE_CHECKING:
    from samerun.health.case import Process

# What a launcher gives all of its ranks alike, and another in the next attempt.
_OF_A_LAUNCH = ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_PORT")


def list_attempts(processes: Sequence[Process]) -> list[list[Process]]:
    """The processes by their attempts; those that have a rank twice are left out.

    Where launches have the same variables, those of one place in the tree of processes are of one attempt.
    """
    found: list[list[Process]] = []
    for attempt in _split_by_launch(processes):
        parts = [attempt] if _is_of_one(attempt) else _split_by_place(attempt)
        found += [part for part in parts if _is_of_one(part)]
    return found


def may_be_of_one(one: Trace, other: Trace) -> bool:
    """Whether nothing that their launcher gave them says that they are of two attempts.

    What only one has was set by a script that then started the other.
    """
    if one.meta.get("world_size") != other.meta.get("world_size"):
        return False
    a, b = _get_variables(one), _get_variables(other)
    return all(a[name] == b[name] for name in _OF_A_LAUNCH if name in a and name in b)


def _split_by_launch(processes: Sequence[Process]) -> list[list[Process]]:
    found: list[list[Process]] = []
    for process in processes:
        for attempt in found:
            if all(may_be_of_one(other.trace, process.trace) for other in attempt):
                attempt.append(process)
                break
        else:
            found.append([process])
    return found


def _split_by_place(processes: Sequence[Process]) -> list[list[Process]]:
    found: dict[tuple[str, ...], list[Process]] = {}
    for process in processes:
        found.setdefault(_find_launch(process.trace), []).append(process)
    return list(found.values())


def _find_launch(trace: Trace) -> tuple[str, ...]:
    """The place of a process without its rank, such as ("again", "1") of ["again", 1, "rank", "0"]."""
    place: Any = trace.meta.get("place")
    words = tuple(map(str, place)) if isinstance(place, list) else ()
    if "rank" not in words:
        return words
    at = words.index("rank")
    return words[:at] + words[at + 2 :]


def _is_of_one(processes: Sequence[Process]) -> bool:
    ranks = [process.trace.rank for process in processes]
    return len(set(ranks)) == len(ranks)


def _get_variables(trace: Trace) -> dict[str, Any]:
    variables = trace.meta.get("variables")
    return variables if isinstance(variables, dict) else {}
