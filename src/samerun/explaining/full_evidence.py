"""What the recorded runs of a difference tell beyond it: all their evidence, and which script was started."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from samerun.comparing.context import build_side
from samerun.comparing.helper_programs import align
from samerun.errors import SamerunError
from samerun.runs.difference import Difference, Row, Side
from samerun.runs.store import Run

_EVERY_STEP = 2**31


class _Recorded(NamedTuple):
    """What a run on disk tells."""

    started: list[tuple[str, tuple[str, ...]]]  # the name and command line of each process
    evidence: dict[int, tuple[Row, ...]]  # of each rank


def read_whole(difference: Difference) -> Difference:
    """The difference with the evidence of its whole runs: lines that run later may need the same edit."""
    a, b = (_read_whole_side(item, difference.rank) for item in (difference.a, difference.b))
    return replace(difference, a=a, b=align(a, b))


def read_argv(difference: Difference) -> tuple[str, ...]:
    """The command line of the process that differs, as Python had it; else the command of the run."""
    run = _find_folder(difference.a.manifest)
    started = [] if run is None else _read(run).started
    for _, argv in sorted(started, key=lambda item: item[0] != difference.process):
        if not any("multiprocessing" in word for word in argv):  # which runs the script of its parent
            return argv
    return tuple(str(word) for word in difference.a.manifest.get("command") or ())


def _read_whole_side(known: Side, rank: int) -> Side:
    run = _find_folder(known.manifest)
    evidence = None if run is None else _read(run).evidence.get(rank)
    return known if evidence is None else replace(known, evidence=evidence)


def _find_folder(manifest: Mapping[str, Any]) -> Path | None:
    run = (manifest.get("plan") or {}).get("run")
    return Path(run) if isinstance(run, str) and Path(run).is_dir() else None


@functools.lru_cache(maxsize=8)
def _read(run: Path) -> _Recorded:
    try:
        traces = list(Run(run).traces().values())
    except SamerunError:
        return _Recorded([], {})
    started = [
        (trace.stem, tuple(map(str, trace.meta["argv"])))
        for trace in traces
        if isinstance(trace.meta.get("argv"), list) and len(trace.meta["argv"]) > 1
    ]
    ranks = {trace.rank: [item for item in traces if item.rank == trace.rank] for trace in traces}
    evidence = {rank: build_side(Run(run), own, _EVERY_STEP).evidence for rank, own in ranks.items()}
    return _Recorded(started, evidence)
