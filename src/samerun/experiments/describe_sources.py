"""What every source says of itself on this machine, now."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from samerun.runs.schema import SCHEMA
from samerun.sources.catalogue import find_sources
from samerun.sources.source import Source


@dataclass(frozen=True)
class SourceDescription:
    """One source here and now; `error` says why it could not describe itself."""

    id: str
    kind: str
    summary: str
    in_play: bool
    says: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None


def describe_sources() -> list[SourceDescription]:
    """Every source of the catalogue, in the order of the ids, with torch and numpy imported.

    Without one of them, what acts on it is not in play.
    """
    there = {module.partition(".")[0]: _is_there(module) for module in ("numpy.random", "torch")}
    return [
        _describe(source)
        if there.get(source.hooks_into.partition(".")[0], True)
        else SourceDescription(source.id, source.kind, source.summary, in_play=False)
        for source in find_sources().values()
    ]


def _is_there(module: str) -> bool:
    try:
        importlib.import_module(module)
    except (ImportError, OSError):
        return False
    return True


def convert_to_json(described: list[SourceDescription]) -> dict[str, Any]:
    """The values of `samerun env --json`."""
    return {
        "schema": SCHEMA,
        "sources": {
            item.id: {
                "kind": item.kind,
                "in_play": item.in_play,
                "says": dict(item.says),
                "error": item.error,
            }
            for item in described
        },
    }


def _describe(source: Source) -> SourceDescription:
    try:
        in_play = source.in_play()
        says = source.describe() if in_play else {}
        error = None
    except Exception as reason:  # one broken driver must not hide what the others say
        in_play, says, error = True, {}, f"{type(reason).__name__}: {reason}"
    return SourceDescription(source.id, source.kind.value, source.summary, in_play, says, error)
