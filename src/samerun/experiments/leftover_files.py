"""Files that one run of an experiment left and a later one read."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from samerun.comparing.pairing import read
from samerun.explaining.explained import Explained
from samerun.runs.difference import Evidence, Strength
from samerun.runs.store import Run
from samerun.sources.catalogue import in_folder

_ENOUGH = Strength.STRONG


def find_left_behind(explained: Explained) -> Evidence | None:
    """What says that one run left something and the other found it.

    Further runs in that folder cannot show such a difference: they all find it.
    """
    found = (item for item in explained.evidence if item.source in in_folder() and item.strength >= _ENOUGH)
    return next(found, None)


def list_files_left(run: Run, folder: Path, first: Run) -> list[Path]:
    """What `run` read, had not written itself, and is newer than the beginning of `first`.

    `folder` is its working directory, as it was before: files in it are given relative to it, others with
    their absolute path.
    """
    since = datetime.fromisoformat(first.manifest.started).timestamp()
    own: set[str] = set()
    found: dict[Path, None] = {}
    for trace in read(run).compared:
        for row in trace.rows(trace.is_one_of("what", {"opened", "written"})):
            if row.detail is None or row.detail in own:
                continue
            if row.what == "written":
                own.add(row.detail)
            elif _read_time_written(folder / row.detail) > since:
                found[Path(row.detail)] = None
    return list(found)


def _read_time_written(path: Path) -> float:
    """When it was last written, in seconds; 0 when it is not there."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
