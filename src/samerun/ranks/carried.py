"""A rank on its way to the processes that it starts by multiprocessing: DataLoader workers, pools.

A forked child sees the process group of its parent. A spawned one, or one of the forkserver, has nothing of
it but the environment, where a rank given to `init_process_group(rank=…)` alone is not. What does get there
is the configuration that multiprocessing copies from each process into those that it starts.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import process
from typing import Any, Final

Ranks = tuple[int, int]  # the rank, and how many there are

_KEY: Final = "samerun_ranks"


def _know_nothing() -> Ranks | None:
    return None


_now: Callable[[], Ranks | None] = _know_nothing  # says the ranks of this process


class CarriedRanks:
    """In a process's configuration: the ranks that it was started with; pickled, those that it has by now."""

    def __init__(self, ranks: Ranks | None) -> None:
        self.ranks = ranks

    def __reduce__(self) -> tuple[type[CarriedRanks], tuple[Ranks | None]]:
        try:
            return CarriedRanks, (_now(),)
        except Exception:  # a group that is being destroyed: never the end of a process that is being started
            return CarriedRanks, (self.ranks,)


def carry(now: Callable[[], Ranks | None]) -> None:
    """Let the processes that this one starts know its ranks, as `now` says them when they are started."""
    global _now
    _now = now
    _read_configuration().setdefault(_KEY, CarriedRanks(None))


def read_carried() -> Ranks | None:
    """The ranks of the process that started this one, when it said so."""
    carried = _read_configuration().get(_KEY)
    return carried.ranks if isinstance(carried, CarriedRanks) else None


def _read_configuration() -> dict[str, Any]:
    configuration: dict[str, Any] = getattr(process.current_process(), "_config", {})
    return configuration
