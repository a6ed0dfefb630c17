"""Python threads that race: https://docs.python.org/3/library/threading.html.

And processes that send what they make through one queue: which of them comes first is not fixed either.
"""

from __future__ import annotations

import functools
import itertools
import re
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from samerun.editing.edit import Edit, NoEdit
from samerun.runs.difference import Difference, Evidence, Row, Strength
from samerun.runs.schema import MAPPED
from samerun.sources.evidence import rows
from samerun.sources.evidence.raced_files import find_raced, is_read_by_both
from samerun.sources.evidence.rows import is_in_helper
from samerun.sources.patching import attribute, dataloader_args, imported
from samerun.sources.patching.threads_and_queues import (
    GIVEN,
    NOT_READY,
    SEVERAL,
    SHARING,
    TAKEN,
    WATCHED,
)
from samerun.sources.source import Journal, Kind, Settings, Source, Undo, Variant
from samerun.wrapping import undo_all, wrap_attribute

if TYPE_CHECKING:
    from samerun.editing.user_program import Code

_UNPICKLED = ("aten.set_.", "aten::set_")  # how weights in shared memory come into a process
_SWITCHED = Variant("threads switched every 10 µs", {"switch": 1e-5}, likely=0.1)  # far more often than 5 ms
_LATE = Variant("threads begun 50 or 100 ms late", {"late": 0.05}, likely=0.1)  # the first of two later
_sleep = time.sleep  # as it is before any control of the clock
_SHARED_ADVICE = "average what each process trains (DistributedDataParallel), or let them take turns"
_FILE_ADVICE = "let one process write the file and the others wait for it: torch.distributed.barrier()"


def _run_late(run: Callable[[], None], seconds: float) -> None:
    """What a thread runs, so much later."""
    _sleep(seconds)
    run()


class ThreadScheduling(Source):
    """Which of several comes first: shared generators, queues and lists that threads or processes fill."""

    id = "thread-scheduling"
    gives = re.compile(
        r"threading\.(Thread|Event|Condition|Barrier|Semaphore|Timer).*"
        r"|((threading|_thread|concurrent|_asyncio)\..*)?\.(is_alive|is_set|locked|done)"
    )
    summary = "several threads or processes ran, and which comes first is not fixed"
    advice = "keep results by index instead of by arrival, and give each thread a generator of its own"
    kind = Kind.ORDER
    evidence = "threads"
    controllable = False
    edits_may_fall_short = True
    unsettled_by = (_LATE, _SWITCHED)
    hooks_into = "threading"
    also_hooks_into = tuple(module for module, _, _ in WATCHED if module != "threading")

    def __init__(self) -> None:
        self._observed: set[str] = set()  # the modules that are seen to already

    def observe(self, journal: Journal) -> Undo | None:
        """Note each thread that the user's code starts, and where it takes what several processes send."""
        undos: list[Undo] = []
        for module, holds, watch in WATCHED:
            if module not in self._observed and imported.has(module, holds):
                self._observed.add(module)
                undos += [functools.partial(self._observed.discard, module), watch(journal)]
        return attribute.undo_all(undos)

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Let Python switch between threads so often, or each begin so late, every other one twice that.

        In play with several.
        """
        before, late = sys.getswitchinterval(), value.get("late", 0.0)
        delays = itertools.cycle((2 * late, late))
        sys.setswitchinterval(value.get("switch", before))

        def start(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            took()
            if late and args:
                args[0].run = functools.partial(_run_late, args[0].run, next(delays))
            return original(*args, **kwargs)

        return undo_all(
            [lambda: sys.setswitchinterval(before), wrap_attribute(threading.Thread, "start", start)]
        )

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """What is done before a thread comes is another thing in each."""
        return [_SWITCHED, _LATE]

    def recognise(self, difference: Difference) -> Evidence | None:
        """Several threads were alive, and no seed, file, folder or operation explains the difference."""
        origin = difference.origin
        own = origin is not None and origin.draws and origin.own_generator  # which of several is a race, too
        drawn = origin is not None and origin.draws and not origin.draws_other_size
        shared = _find_shared_generator(difference)
        if not own and shared is None and (drawn or (origin is not None and origin.makes_it)):
            return None
        return self._of_processes(difference) or self._of_threads(difference, own=own, shared=shared)

    def _of_processes(self, difference: Difference) -> Evidence | None:
        """Several processes change the same memory, or the same file."""
        sharing = _find_sharing(difference)
        if sharing is None:
            return self._racing_for_file(difference)
        text = f"{sharing.value:.0f} processes were alive that train on the same memory"
        return Evidence(self.id, Strength.SEEN, text, sharing.call_site, _SHARED_ADVICE, beyond_control=True)

    def _of_threads(self, difference: Difference, *, own: bool, shared: str | None) -> Evidence | None:
        """Several threads were alive.

        `own`: it draws from a generator object that the script made; `shared`: from this one, which others
        may have drawn from.
        """
        threads = rows.list_racing(difference, "threads")
        found = max(threads, key=lambda row: row.value or 0, default=None)
        taken = {row.detail: row for row in reversed(threads)}
        found = taken.get(NOT_READY) or taken.get(SEVERAL) or found
        most = 0.0 if found is None else found.value or 0.0
        if found is None or most <= 1 or (not own and _is_explained(difference)):
            return self._sharing(difference)
        alive = f"{most:.0f} Python threads were alive"
        if own:
            text = f"{alive}, which may decide which generator is drawn from"
            return Evidence(self.id, Strength.SLIGHT, text, found.call_site)
        if shared is not None and found.name == "start":
            text = (
                f"{alive}, and {shared} was in the same state in both runs until it was drawn from more "
                "often in one of them"
            )
            origin = difference.origin
            if (
                origin is not None and origin.inputs_equal
            ):  # no operation before it drew another number of times
                return Evidence(self.id, Strength.SEEN, text, found.call_site, beyond_control=True)
            return Evidence(self.id, Strength.STRONG, text, found.call_site)
        if (found.name or "").endswith(TAKEN):
            alive = f"{most:.0f} processes were alive where {found.name} takes what they send as it comes"
        arrived = rows.list_racing(difference, "arrival")
        if arrived:  # the order in which results are taken is another source's
            text = f"{alive}, which may share more than the order in which their results are taken"
            return Evidence(self.id, Strength.LAST_RESORT, text, found.call_site)
        if found.detail == NOT_READY:
            alive = f"{most:.0f} Python threads were alive, and {found.name} found nothing and did not wait"
        if found.detail == SEVERAL:
            alive = f"{most:.0f} threads put into the queue that {found.name} takes from, as they come"
        if found.name in (SHARING, GIVEN, MAPPED):
            shared = "map a file to write to it" if found.name == MAPPED else "share memory"
            alive = f"{most:.0f} processes were alive that {shared}"
        text = f"{alive}, and nothing else that was recorded explains it"
        advice = _SHARED_ADVICE if found.name == GIVEN else None
        return Evidence(self.id, Strength.FAIR, text, found.call_site, advice)

    def _racing_for_file(self, difference: Difference) -> Evidence | None:
        """What one rank writes while another one reads it."""
        raced = find_raced(difference)
        if raced is None:
            return None
        read, written = raced
        where = f" at {written.call_site}" if written.call_site else ""
        text = f"rank {difference.rank} read {read.detail}, which another rank writes{where}, as it comes"
        strength = Strength.PLAUSIBLE if is_read_by_both(difference, read) else Strength.STRONG
        return Evidence(self.id, strength, text, read.call_site, _FILE_ADVICE, beyond_control=True)

    def _sharing(self, difference: Difference) -> Evidence | None:
        """What several processes may change, or write, each when it comes to it."""
        if _is_explained(difference):
            return None
        sharing = rows.list_racing(difference, "shared")
        if (made := rows.find_made_by_helper(difference)) is not None:
            begun = next((row for row in sharing if is_in_helper(row) and row.name == SHARING), None)
            if begun is None:
                return None
            text = f"several processes were alive, and may write {made.detail}, each as it comes"
            return Evidence(self.id, Strength.FAIR, text, begun.call_site, beyond_control=True)
        held = next((row for row in sharing if row.name != SHARING), None)
        several = max(dataloader_args.read_worker_counts(difference.a.settings), default=0) > 1
        if held is None or not several or not difference.in_workers or difference.indices_equal is not True:
            return None
        text = f"several workers may change what {held.name} at {held.call_site} holds, each as it comes"
        advice = "let a sample depend on its index and the epoch, and not on what other workers did before"
        return Evidence(self.id, Strength.FAIR, text, held.call_site, advice, beyond_control=True)

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """Results as they were asked for; one thread at a time where they share something."""
        from samerun.sources.edits import threads

        edits = threads.keep_order_submitted(code)
        if not edits or threads.share(code):
            edits += threads.run_one_by_one(code)
        if not edits:
            found = self.recognise(difference)
            advice = found.advice if found is not None and found.advice else self.advice
            racing = "threads that wait for each other" if advice == self.advice else "processes that race"
            raise NoEdit(f"{racing} cannot be put into an order by an edit: {advice}")
        return edits


def _find_shared_generator(difference: Difference) -> str | None:
    """A global generator in another state than in the other run, though it was in the same one once."""
    origin = difference.origin
    if origin is not None and origin.inputs_equal:
        parts = origin.draws and origin.generator_differs and not origin.own_generator
        return origin.generator if parts and origin.generator in difference.agreed else None
    never = difference.step + 1
    parted = (id_ for id_ in difference.drawn if difference.rng_first.get(id_, never) < never)
    return next(iter(sorted(difference.agreed.intersection(parted))), None)


def _is_explained(difference: Difference) -> bool:
    """Whether a seed, a generator or a file differs; the order of files may be the threads' doing."""
    if rows.has_rng_difference(difference) or rows.has_changed_file(difference):
        return True
    return any(rows.find_first_differing(difference, what) for what in ("seed", "listing"))


def _find_sharing(difference: Difference) -> Row | None:
    """Where a process was started that is given weights which another one writes; they differ as they come.

    Not where the starting process had not seeded them: then they may differ from the beginning.
    """
    origin = difference.origin
    comes = difference.gap is not None or (origin is not None and origin.op.startswith(_UNPICKLED))
    if not comes and (difference.phase, difference.what) != ("setup", "parameters"):
        return None
    started = [row for row in difference.a.rows("threads") if row.name == GIVEN and (row.value or 0) > 1]
    seeded = {row.process for row in difference.a.rows("seed", "torch.manual_seed")}
    return next((row for row in started if row.process in seeded and row.process != difference.process), None)
