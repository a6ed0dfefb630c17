"""What the traces of a run tell of it, for its manifest: steps, settings and versions, as far as readable."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from samerun.errors import RunError
from samerun.runs.details import parse_detail
from samerun.runs.reading import Trace
from samerun.runs.schema import only_helps
from samerun.runs.store import Run
from samerun.sources.packages import Packages


def summarise_traces(path: Path) -> dict[str, Any]:
    """The fields of the manifest that the traces in the run's folder `path` know; those of one rank."""
    traces = [trace for trace in read_readable(path) if not only_helps(trace.stem)]
    if not traces:
        return {}
    steps = [_count_steps(trace) for trace in traces]
    most = steps.index(max(steps))
    settings = _collect_settings(traces[most])
    meta = traces[most].meta
    packages = settings.get(Packages.id, {}) or {"torch": meta.get("torch", "")}
    return {
        "steps": steps[most],
        "settings": settings,
        "python": str(meta.get("python", "")),
        "packages": {str(name): str(version) for name, version in packages.items()},
    }


def read_readable(path: Path) -> list[Trace]:
    """The traces in the run's folder that can be read."""
    from samerun.runs.reading import read_trace

    traces = []
    for file in Run(path).trace_paths():
        try:
            traces.append(read_trace(file))
        except RunError:  # comparing tells of it, with the reason
            continue
    return traces


def _count_steps(trace: Trace) -> int:
    """How many optimizer steps are complete: the last one whose parameters were written, plus one."""
    updated = trace.is_one_of("what", ("parameters",)) & trace.is_one_of("phase", ("optimizer",))
    steps = trace.steps[updated]
    return int(steps.max()) + 1 if len(steps) else 0


def _collect_settings(trace: Trace) -> dict[str, Mapping[str, Any]]:
    """The latest of what each source said of itself."""
    settings: dict[str, Mapping[str, Any]] = {}
    for row in trace.rows(trace.is_one_of("what", ("setting",))):
        described = parse_detail(row.detail or "{}", dict[str, Any])
        if row.name is not None and described is not None:
            settings[row.name] = described
    return settings
