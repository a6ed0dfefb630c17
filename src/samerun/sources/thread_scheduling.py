"""Python threads that race: https://docs.python.org/3/library/threading.html."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from samerun.editing.edit import Edit, NoEdit
from samerun.runs.difference import Difference, Evidence
from samerun.sources import _patch, _rows
from samerun.sources.source import Journal, Settings, Source, Undo, Variant

if TYPE_CHECKING:
    from samerun.editing.code import Code


class ThreadScheduling(Source):
    """Which of several threads comes first: shared generators, queues and lists filled by a thread pool."""

    id = "thread-scheduling"
    summary = "several Python threads ran, and which comes first is not fixed"
    advice = "keep results by index instead of by arrival, and give each thread a generator of its own"
    kind = "order"
    controllable = False
    hooks_into = "threading"

    def observe(self, journal: Journal) -> Undo | None:
        """Note each thread that the user's code starts."""
        original = threading.Thread.start

        @functools.wraps(original)
        def start(self_: threading.Thread) -> None:
            journal.note("threads", "start", value=threading.active_count() + 1, user_only=True)
            original(self_)

        return _patch.replace(threading.Thread, "start", start)

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Let Python switch between threads every `value` seconds; in play once there are several."""
        before, original = sys.getswitchinterval(), threading.Thread.start
        sys.setswitchinterval(value)

        @functools.wraps(original)
        def start(self_: threading.Thread) -> None:
            took()
            original(self_)

        undo = _patch.replace(threading.Thread, "start", start)
        return _patch.all_of([lambda: sys.setswitchinterval(before), undo])

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """Far more often than the usual 5 ms."""
        return [Variant("threads switched every 10 µs", 1e-5, likely=0.1)]

    def recognise(self, difference: Difference) -> Evidence | None:
        """Several threads were alive, and no seed, file, folder or operation explains the difference."""
        origin = difference.origin
        if origin is not None and (origin.inputs_equal or origin.draws):
            return None
        most = max((row.value or 0 for row in difference.a.rows("threads")), default=0)
        if most <= 1 or _rows.rng_differs(difference):
            return None
        if any(_rows.first_differing(difference, what) for what in ("seed", "opened", "listing")):
            return None
        site = difference.a.rows("threads")[0].call_site
        text = f"{most:.0f} Python threads were alive, and nothing else that was recorded explains it"
        return Evidence(self.id, 0.5, text, site)

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """Results as they were asked for; one thread at a time where they share something."""
        from samerun.sources._mending import threads

        edits = threads.as_submitted(code)
        if not edits or threads.share(code):
            edits += threads.one_by_one(code)
        if not edits:
            reason = "threads that wait for each other cannot be put into an order by an edit"
            raise NoEdit(f"{reason}: {self.advice}")
        return edits
