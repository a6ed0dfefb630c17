"""What the generators of a loader's workers begin with, once the script's worker_init_fn has run.

A pass of the same base seed and order repeats an earlier one in the plain program, unless that function seeds
by something else: by the epoch, by a clock. Only the workers see that. Each writes a digest
of its states into memory that it shares with the main process, which sends them along with a later pass.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Callable
from multiprocessing import reduction
from typing import Any, NamedTuple

_STATES = struct.Struct("=3Q")


class Begun(NamedTuple):
    """In a worker: its number, and 64 bits for the state of each of torch's, Python's and NumPy's."""

    worker: int
    states: tuple[int, ...]
    seeded: tuple[int, ...] = ()  # as torch had seeded them, where another rank may have seeded otherwise

    def find_changed(self, earlier: tuple[int, ...]) -> tuple[int, ...]:
        """The bits of those that began with another state in the pass of `earlier`, 0 for the others.

        Among ranks, of those that the script has seeded: each for itself, or all of them alike.
        """
        before = self.seeded or earlier[self.worker * 3 : self.worker * 3 + 3] or (0, 0, 0)
        return tuple(
            now if then not in (0, now) else 0 for then, now in zip(before, self.states, strict=True)
        )


class BegunStates:
    """Those of all workers of one iterator; 0 where a worker has not begun yet."""

    def __init__(self, workers: int, file: int) -> None:
        self._workers = workers
        self._file: int | None = file
        self._memory = mmap.mmap(file, workers * _STATES.size)

    def write(self, begun: Begun) -> None:
        """In a worker."""
        if begun.worker < self._workers:
            _STATES.pack_into(self._memory, begun.worker * _STATES.size, *begun.states)

    def read(self) -> tuple[int, ...]:
        """Three numbers for each worker."""
        return struct.unpack(f"={3 * self._workers}Q", self._memory)

    def close_file(self) -> None:
        """Once the workers are started, who have it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """On its way to a worker that is not forked."""
        if self._file is None:
            raise ValueError("its workers were started before")
        return _attach, (self._workers, reduction.DupFd(self._file))


def make_begun_states(workers: int) -> BegunStates | None:
    """None where the system has no memory that is a file without a name."""
    if not hasattr(os, "memfd_create"):
        return None
    file = os.memfd_create("samerun")
    os.ftruncate(file, workers * _STATES.size)
    return BegunStates(workers, file)


def _attach(workers: int, file: Any) -> BegunStates:
    found = BegunStates(workers, file.detach())
    found.close_file()
    return found
