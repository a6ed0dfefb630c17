"""The results of a run that a lock holds: metrics by name, saved files by what is in them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping

from samerun.experiments.lock.leaves import Leaves
from samerun.experiments.lock.named_files import collect_named, limit_files, name_file
from samerun.experiments.printed_results import list_metrics
from samerun.experiments.written_results import list_other_fractions, list_results
from samerun.runs.lock.content import OTHER_FRACTIONS, LockedResult
from samerun.runs.store import Run
from samerun.runs.written import Value

_MOST_FILES = 12


def read_result(run: Run, leaves: Leaves) -> LockedResult:
    """Its last loss, and what it printed and wrote: results by their names, arrays, other fractions.

    The last may be of the clock, under whatever name: only what two runs agree in is locked.
    """
    metrics = {name: value for name, value in list_metrics(run).items() if math.isfinite(value)}
    folder = run.manifest.cwd
    files = ((name_file(path, folder), _digest(values)) for path, values in list_results(run).items())
    found = list_other_fractions(run).items()
    others = collect_named((name_file(path, folder), _digest(values)) for path, values in found)
    named = limit_files(collect_named(files), _MOST_FILES)
    named |= {f"{path}{OTHER_FRACTIONS}": digest for path, digest in [*others.items()][:_MOST_FILES]}
    last = max(leaves.losses, default=None)
    loss = None if last is None else leaves.losses[last]
    return LockedResult(loss, metrics, named)


def _digest(values: Mapping[str, Value]) -> str:
    lines = (f"{key} {value!r}" for key, value in sorted(values.items()))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]
