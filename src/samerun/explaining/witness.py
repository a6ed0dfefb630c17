"""What the recorded runs of a difference tell beyond it: all their evidence, and which script was started."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from samerun.comparing.circumstances import side
from samerun.errors import SamerunError
from samerun.runs.difference import Difference, Side
from samerun.runs.reading import Trace
from samerun.runs.store import Run

_EVERY_STEP = 2**31


def whole(difference: Difference) -> Difference:
    """The difference with the evidence of its whole runs: lines that run later may need the same edit."""
    a, b = (_whole(item, difference.rank) for item in (difference.a, difference.b))
    return replace(difference, a=a, b=b)


def argv_of(difference: Difference) -> tuple[str, ...]:
    """The command line of the process that differs, as Python had it; else the command of the run."""
    command = tuple(str(word) for word in difference.a.manifest.get("command") or ())
    run = _folder(difference.a.manifest)
    traces = [] if run is None else _traces(run)
    named = sorted(traces, key=lambda trace: trace.stem != difference.process)
    for trace in named:
        argv = trace.meta.get("argv")
        if isinstance(argv, list) and len(argv) > 1 and not _is_child(argv):
            return tuple(str(word) for word in argv)
    return command


def _is_child(argv: list[Any]) -> bool:
    """Whether multiprocessing started the process, which then runs the script of its parent."""
    return any("multiprocessing" in str(word) for word in argv[1:])


def _whole(known: Side, rank: int) -> Side:
    run = _folder(known.manifest)
    if run is None:
        return known
    traces = [trace for trace in _traces(run) if trace.rank == rank]
    if not traces:
        return known
    return replace(known, evidence=side(Run(run), traces, _EVERY_STEP).evidence)


def _folder(manifest: Mapping[str, Any]) -> Path | None:
    run = manifest.get("plan", {}).get("run")
    return Path(run) if isinstance(run, str) and Path(run).is_dir() else None


@functools.lru_cache(maxsize=4)
def _traces(run: Path) -> list[Trace]:
    try:
        return list(Run(run).traces().values())
    except SamerunError:
        return []
