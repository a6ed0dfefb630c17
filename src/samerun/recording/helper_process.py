"""A program that the command runs and that never trains, such as one that prepares the data.

It has no records to compare. What it drew, and what it read of the world, is evidence of the training that
may have read what it made; the comparison finds it beside that of DataLoader workers.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from samerun.ranks.identity import rank
from samerun.recording import process_identity
from samerun.recording.evidence_log import Journal
from samerun.runs.schema import HELPER, SCHEMA
from samerun.runs.trace import TraceWriter

_TOLD = frozenset(
    {"draw", "seed", "unseeded", "entropy", "clock", "identity", "system", "listing", "written"}
)
_MOST = 2000  # rows


def leave(journal: Journal) -> None:
    """At the end of a process that wrote no trace: write one, if there is anything to tell."""
    if os.getpid() != journal.born:
        return  # what is known here is its parent's to tell
    if journal.draws is not None:
        journal.draws.flush()
    journal.settle()
    rows = [row for row in journal.early if row["what"] in _TOLD][:_MOST]
    if not rows:
        return
    role = f"{HELPER}{process_identity.find_role() or process_identity.digest_argv()}"
    run = Path(journal.plan.run)
    stem = process_identity.claim(run, role)
    writer = TraceWriter(run / f"{stem}.trace.arrow", _build_meta(journal, stem, role))
    for row in rows:
        writer.append(**{"step": 0, "phase": "setup", **row})
    writer.close()


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
        "argv": sys.orig_argv,
        "python": sys.version.split()[0],
        "torch": None,
    }
