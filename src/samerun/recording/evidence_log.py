"""Where evidence is written, from the start of the process on, whether torch comes or not."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

from samerun import callsite
from samerun.interruption import is_the_scripts
from samerun.recording.at_work import AtWork
from samerun.recording.helper_draws import FirstStates
from samerun.runs.plan import Plan

if TYPE_CHECKING:
    from samerun.recording.draws.ledger import Draws
    from samerun.runs.record import Record

_KEPT = 50_000  # notes kept in memory before a trace is open, and the most that one process writes
# So that a library's loop over a clock, say, leaves room for what else there is:
_MOST_OF_LINE = 1_000  # notes that are alike but for their step; later ones say nothing new
_MOST_OF_NAME = 20_000


class Sink(Protocol):
    """Where evidence goes once torch is there."""

    def write_evidence(self, record: Record) -> None:
        """Write one record of evidence."""

    def fail(self, error: BaseException) -> None:
        """Our own error: the recording ends, the training goes on."""

    def finish(self) -> None:
        """The process ends by itself, or its last cell has run."""

    def is_paused(self) -> bool:
        """Whether the recorder itself is at work in this thread."""

    def pausing(self) -> AbstractContextManager[None]:
        """Nothing that this thread does meanwhile is recorded."""

    @property
    def is_open(self) -> bool:
        """Whether there is a trace on disk."""

    def flush(self) -> None:
        """Hand everything to the operating system."""

    def where(self) -> tuple[int, str]:
        """The step and phase of what happens now."""


class _Here(AtWork):
    unless: Callable[[], bool] | None = None  # what drops what is noted now


class Journal:
    """Keeps evidence in memory until the process has a trace, then writes it there.

    A process that never trains never writes anything.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.born = os.getpid()
        self.sink: Sink | None = None
        self.on_seeding: Callable[[str, str], object] | None = None  # is given what `seeds` is
        self.on_import: Callable[[str], object] | None = None  # is given the id of an RNG that is now there
        self.on_pool: Callable[[str], object] | None = None  # is given a module with pools that is now there
        self.draws: Draws | None = None
        self.generators = FirstStates()
        self.early: list[Record] = []
        # Of a process that may be ended at any moment; it is given what happened and at which line.
        self.on_event: Callable[[str, str | None], None] | None = None
        self._held: list[tuple[Record, Callable[[], bool]]] = []  # each with what drops it
        self._count = 0
        self._noted: Counter[tuple[str, ...]] = Counter()
        self._here = _Here()
        if hasattr(os, "register_at_fork"):  # not on Windows
            os.register_at_fork(after_in_child=self.forget)

    def note(
        self,
        what: str,
        name: str,
        *,
        digest: bytes | None = None,
        inputs: int | None = None,
        value: float | None = None,
        detail: str | None = None,
        user_only: bool = False,
        at: str | None = None,
    ) -> None:
        """Write one evidence record, with the line of the user's code that led to it, or else `at`."""
        if self._here.busy or self._count >= _KEPT or self.is_paused():
            return
        if digest is None and self._noted[what, name] >= _MOST_OF_NAME:
            return  # without looking for the line, which takes time
        self._here.busy = True
        try:
            frame = callsite.find_user_frame(2)
            if user_only and (frame is None or callsite.is_the_compilers(frame, 2)):
                return
            site = at if frame is None else callsite.call_site(frame)
            if digest is None and self._has_enough(what, name, site, detail):
                return
            self._count += 1
            from samerun.runs.record import Record  # and msgspec, which takes time that many processes spare

            record = Record(
                *self.where(),
                what,
                name,
                call_site=site,
                digest=digest,
                inputs=inputs,
                value=value,
                detail=detail,
            )
            if self._here.unless is None:
                self.write(record)
            else:
                self._held.append((record, self._here.unless))
        except Exception as error:  # evidence must never hurt the training
            self.fail(error)
        finally:
            self._here.busy = False

    def _has_enough(self, what: str, *more: str | None) -> bool:
        """Whether the same was noted at a line so often that nothing is learned; this time is counted."""
        name, *_ = said = tuple(each or "" for each in more)
        key = (what, *said)
        self._noted[what, name] += 1
        self._noted[key] += 1
        return self._noted[key] > _MOST_OF_LINE

    def write(self, record: Record) -> None:
        """Write one record of evidence, or keep it until there is a trace."""
        for each in (*self._settled(), record):
            if self.sink is None:
                self.keep(each)
            else:
                self.sink.write_evidence(each)

    def keep(self, record: Record) -> None:
        """Keep one record until there is a trace."""
        self.early.append(record)
        self.count_event(record.what, record.call_site)

    def count_event(self, what: str, site: str | None) -> None:
        """Something happened that is evidence: a record, or a draw that goes into one."""
        if self.on_event is not None:
            self.on_event(what, site)

    @property
    def has_trace(self) -> bool:
        """Whether what is written here goes into a trace on disk."""
        return self.sink is not None and self.sink.is_open

    def settle(self) -> None:
        """Write what was held back and is not to be dropped."""
        for record in self._settled():
            self.write(record)

    def _settled(self) -> list[Record]:
        held, self._held = self._held, []
        return [record for record, unless in held if not unless()]

    def write_draws(self, batch: int | None = None) -> None:
        """Write what was drawn since the last time (in a worker, for its batch of this number)."""
        self.settle()
        if self.draws is not None:
            self.draws.flush(batch)

    def save_draws(self) -> None:
        """Have what was drawn so far on disk, if there is a trace."""
        if self.sink is not None and self.sink.is_open:
            self.write_draws()
            self.sink.flush()

    def fail(self, error: BaseException) -> None:
        """Our own error: the recording ends, the training goes on. One of the script's is raised again."""
        if is_the_scripts(error):
            raise error
        if self.sink is not None:
            self.sink.fail(error)

    def is_paused(self) -> bool:
        """Whether the recorder itself is at work: what it does is no evidence."""
        return self.sink is not None and self.sink.is_paused()

    def where(self) -> tuple[int, str]:
        """The step and phase of what happens now."""
        return (0, "setup") if self.sink is None else self.sink.where()

    @contextmanager
    def held_back(self, unless: Callable[[], bool]) -> Iterator[None]:
        """What is noted here is written a little later, and dropped where `unless` is true by then."""
        self._here.unless = unless
        try:
            yield
        finally:
            self._here.unless = None

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """While what happens is no evidence."""
        before, self._here.busy = self._here.busy, True
        try:
            yield
        finally:
            self._here.busy = before

    def seeds(self, generator: str, moment: str) -> None:
        """Write the states of the RNGs whose ids begin so, which the script is about to seed or has seeded.

        What it seeds before torch is there is seen as a training begins.
        """
        if self.on_seeding is not None and not self._here.busy and callsite.find_user_frame(2) is not None:
            self.on_seeding(generator, moment)

    def from_user(self) -> bool:
        """Whether the observed call was made by the user's code."""
        return callsite.find_user_frame(2) is not None

    def forget(self) -> None:
        """In a forked child: what the parent kept is the parent's to write."""
        self.born = os.getpid()
        self.on_event = None
        self.early.clear()
        self._held.clear()
        if self.draws is not None:
            self.draws.forget()
        self._count = 0
        self._noted.clear()
        self._here.busy = False
