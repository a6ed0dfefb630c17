"""A program that the command runs and that never trains, such as one that prepares the data.

It has no records to compare. What it drew, and what it read of the world, is evidence of the training that
may have read what it made; the comparison finds it beside that of DataLoader workers.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from samerun import lineage, set_variables
from samerun.ranks.identity import rank
from samerun.recording import process_identity
from samerun.recording.evidence_log import Journal
from samerun.runs.schema import HELPER, SCHEMA
from samerun.runs.secrets_in_text import hide_secrets
from samerun.runs.trace import TraceWriter

_REPORTED = frozenset(
    ["draw", "seed", "unseeded", "entropy", "clock", "identity", "address", "system", "listing"]
).union(["written", "arrival", "threads", "shared"])
_MOST = 2000  # rows


def leave(journal: Journal) -> None:
    """At the end of a process that wrote no trace: write one, if there is anything to report."""
    if os.getpid() != journal.born or process_identity.is_in_worker():
        return  # what is known here is its parent's to report
    journal.write_draws()
    _write_unfollowed(journal)
    records = [record for record in journal.early if record.what in _REPORTED][:_MOST]
    if not records:
        return
    role = f"{HELPER}{process_identity.find_role() or process_identity.digest_argv()}"
    run = Path(journal.plan.run)
    stem = process_identity.claim(run, role)
    writer = TraceWriter(run / f"{stem}.trace.arrow", _build_meta(journal, stem, role))
    for record in records:
        writer.append(record)
    writer.close()


def _write_unfollowed(journal: Journal) -> None:
    """One draw, at no line, of each generator that was drawn from and whose draws were not followed."""
    from samerun.runs.record import Record

    followed = {record.name for record in journal.early if record.what == "draw"}
    for drawn in journal.generators.find_drawn():
        if drawn.source not in followed:
            before = int.from_bytes(drawn.before[:8], "little")
            journal.write(Record(*journal.where(), "draw", drawn.source, digest=drawn.after, inputs=before))


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
        "argv": hide_secrets(sys.orig_argv),
        "variables": set_variables.get_set(),
        "python": sys.version.split()[0],
        "torch": None,
    }
