"""A program that the command runs and that never trains, such as one that prepares the data.

It has no records to compare. What it drew, and what it read of the world, is evidence of the training that
may have read what it made; the comparison finds it beside that of DataLoader workers.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from samerun import lineage, set_variables
from samerun.ranks.identity import rank
from samerun.recording import process_identity
from samerun.recording.evidence_log import Journal
from samerun.runs.schema import HELPER, SCHEMA
from samerun.runs.trace import SUFFIX, TraceWriter

if TYPE_CHECKING:
    from samerun.runs.record import Record

_REPORTED = frozenset(
    ["draw", "seed", "unseeded", "entropy", "clock", "identity", "address", "system", "listing"]
).union(["written", "arrival", "threads", "shared"])
_MOST = 2000  # rows
_PART = ".part"  # a trace that is being written


def keep_on_disk(journal: Journal, *, until_trace: bool = False) -> None:
    """From now on have on disk what there is to report, since a signal may end this process at any moment.

    So leave the workers of a `with Pool(…)`, whatever `terminate()` ends, and a server that the training's
    shell script stops. It is written at the 1st, 2nd, 4th, 8th, … event of each kind and line, each time
    anew: a worker that has one task may draw in it once, after many operations. With `until_trace` until the
    process has a trace of its own, which its recorder sees to.
    """
    events: Counter[tuple[str, str | None]] = Counter()
    due, saving = False, threading.Lock()

    def count(what: str, site: str | None) -> None:
        nonlocal due
        if until_trace and journal.has_trace:
            journal.on_event = None
            return
        events[what, site] += 1
        due = due or events[what, site].bit_count() == 1  # a power of two
        if not due or process_identity.becomes_worker() or not saving.acquire(blocking=False):
            return
        try:
            due = False
            with journal.unheard(), contextlib.suppress(OSError):  # it may write where its parent may not
                _save(journal)
                journal.save_draws()
        finally:
            saving.release()

    journal.on_event = count


def leave(journal: Journal) -> None:
    """At the end of a process that wrote no trace: write one, if there is anything to report."""
    journal.on_event = None
    journal.write_draws()
    _save(journal)


def withdraw(journal: Journal) -> None:
    """This process has a trace of its own from here on, with all that was kept."""
    stem = _stems.pop(os.getpid(), None)
    if stem is not None:
        (Path(journal.plan.run) / f"{stem}{SUFFIX}").unlink(missing_ok=True)


_stems: dict[int, str] = {}  # the name that a process has claimed


def _save(journal: Journal) -> None:
    if os.getpid() != journal.born or journal.has_trace or process_identity.is_in_worker():
        return  # what is known here is its parent's to report, or stands in its trace
    records = [*journal.early, *(journal.draws.list_pending() if journal.draws else ())]
    records += _list_unfollowed(journal, {record.name for record in records if record.what == "draw"})
    records = [record for record in records if record.what in _REPORTED][:_MOST]
    if not records:
        return
    role = f"{HELPER}{process_identity.find_role() or process_identity.digest_argv()}"
    run = Path(journal.plan.run)
    stem = _stems.get(os.getpid())
    if stem is None:
        stem = _stems[os.getpid()] = process_identity.claim(run, role)
    writer = TraceWriter(run / f"{stem}{_PART}", _build_meta(journal, stem, role))
    for record in records:
        writer.append(record)
    writer.close()
    if writer.failed is None:
        writer.path.replace(run / f"{stem}{SUFFIX}")


def _list_unfollowed(journal: Journal, followed: Collection[str]) -> list[Record]:
    """One draw, at no line, of each generator that was drawn from and whose draws were not followed."""
    from samerun.runs.record import Record

    return [
        Record(
            *journal.where(),
            "draw",
            drawn.source,
            digest=drawn.after,
            inputs=int.from_bytes(drawn.before[:8], "little"),
        )
        for drawn in journal.generators.find_drawn()
        if drawn.source not in followed
    ]


def _build_meta(journal: Journal, stem: str, role: str) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "digests": {},
        "tier": journal.plan.tier,
        "stem": stem,
        "rank": rank(),
        "role": role,
        "pair": process_identity.pair(rank(), stem, role, ""),
        "world_size": 1,
        "place": lineage.get_place(),
        "argv": process_identity.read_argv(),
        "variables": set_variables.get_set(),
        "python": sys.version.split()[0],
        "torch": None,
    }
