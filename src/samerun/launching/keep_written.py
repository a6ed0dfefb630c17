"""Keeps what a run wrote, by value, before another run writes over it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from samerun.launching.file_values import digest_whole, read_values
from samerun.launching.summarise_traces import read_readable
from samerun.runs.written import WrittenFile, save_written

_MOST_FILES = 200
_MOST_ENTRIES = 2000  # of a folder, that are looked at
# Renamed when it was whole, or written by native code.
_FOUND = frozenset([".json", ".jsonl", ".csv", ".npy", ".npz", ".safetensors"])


def keep_written(run: Path, folder: Path, root: Path | None, since: float) -> None:
    """Write `written.json` into the folder of a run that was made in `folder`.

    `root` is what stands for `/` there, `since` when the run began, in seconds since the epoch. What
    cannot be read is left out.
    """
    found: dict[str, WrittenFile] = {}
    opened = dict(_list_opened(run))
    for name in (*opened, *_list_changed(folder, opened, since)):
        if len(found) >= _MOST_FILES:
            break
        site, start = opened.get(name, (None, 0))
        path = _locate(name, folder, root)
        with contextlib.suppress(OSError, ValueError):
            values = read_values(path, start)
            digest = digest_whole(path) if values is None else None
            if values or digest is not None:
                found[name] = WrittenFile(site, values or {}, digest)
    with contextlib.suppress(OSError):  # the disk is full: the run says so itself
        save_written(found, run)


def _list_opened(run: Path) -> Iterator[tuple[str, tuple[str | None, int]]]:
    """Each file that was opened to write, with the line, and its size before where it was added to."""
    for trace in read_readable(run):
        for row in trace.rows(trace.is_one_of("what", {"written"})):
            if row.detail:
                yield row.detail, (row.call_site, int(row.value or 0))


def _list_changed(folder: Path, opened: dict[str, tuple[str | None, int]], since: float) -> list[str]:
    """Other files in the folders that were written to, newer than the run."""
    places = {Path(), *(Path(name).parent for name in opened if not os.path.isabs(name))}
    found: list[str] = []
    for place in sorted(places):
        with contextlib.suppress(OSError), os.scandir(folder / place) as entries:
            for _, entry in zip(range(_MOST_ENTRIES), entries, strict=False):
                name = str(place / entry.name)
                if name in opened or Path(name).suffix.lower() not in _FOUND:
                    continue
                if entry.is_file(follow_symlinks=False) and entry.stat().st_mtime >= since:
                    found.append(name)
    return sorted(found)


def _locate(name: str, folder: Path, root: Path | None) -> Path:
    if not os.path.isabs(name):
        return folder / name
    copied = None if root is None else root / name.lstrip(os.sep)
    return copied if copied is not None and copied.exists() else Path(name)
