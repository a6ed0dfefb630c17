"""The leaves of a run beside its lock: a trace (runs/schema.py) with one record for each, by which any single
step can be compared.
"""

from __future__ import annotations

from pathlib import Path

from samerun.errors import RunError, UsageError
from samerun.experiments.lock.leaves import Leaves
from samerun.runs.reading import read_trace
from samerun.runs.record import Record
from samerun.runs.trace import TraceWriter

_WHAT = "note"


def write_leaves(leaves: Leaves, path: Path) -> None:
    """Write the file. Raises UsageError where it cannot be written."""
    writer = TraceWriter(path, {"stem": "leaves"})
    for (step, quantity), digest in leaves.digests.items():
        loss = leaves.losses.get(step) if quantity == "loss" else None
        writer.append(Record(step, "end", _WHAT, quantity, digest=bytes.fromhex(digest), value=loss))
    writer.close()
    if writer.failed is not None:
        raise UsageError(f"The leaves cannot be written: {writer.failed}.")


def read_leaves(path: Path) -> Leaves:
    """What `write_leaves` wrote. Raises TraceError, SchemaError, and RunError for a part of it."""
    trace = read_trace(path)
    if not trace.complete:
        raise RunError(f"The leaves {path} are cut short. Copy them again, or lock again with --leaves.")
    found: dict[tuple[int, str], str] = {}
    losses: dict[int, float] = {}
    for row in trace.rows(trace.is_one_of("what", {_WHAT})):
        if row.name is None or row.digest is None:
            continue
        found[row.step, row.name] = row.digest.hex()
        if row.value is not None:
            losses[row.step] = row.value
    return Leaves(dict(sorted(found.items())), losses)
