"""Files by a name that is the same on every machine: relative to the run's folder, else its last part."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from samerun.runs.lock.content import EVERYTHING, OUTSIDE, is_inside

MOST_CODE = 300  # files that a lock names one by one: those of code are looked up in git by their digests
MOST_INPUTS = 30


def name_file(path: str, folder: str) -> str:
    """The name of a file that a run in `folder` shows as `path`."""
    name = path
    if os.path.isabs(path):
        below = os.path.relpath(path, folder)
        name = path if below.startswith("..") else below
    name = PurePosixPath(Path(name)).as_posix()
    return (
        name if is_inside(name) and not name.startswith(OUTSIDE) else f"{OUTSIDE}{PurePosixPath(name).name}"
    )


def collect_named(files: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The digest of each name; where several files have one name, that of theirs, in any order."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name, digest in files:
        found[name].append(digest)
    return {
        name: digests[0] if len(digests) == 1 else _digest(digests) for name, digests in sorted(found.items())
    }


def digest_all(files: Mapping[str, str]) -> str:
    """One digest for all of them, their names included."""
    return _digest([f"{name} {digest}" for name, digest in files.items()])


def limit_files(files: Mapping[str, str], most: int) -> dict[str, str]:
    """The same; where there are more, one digest for each folder, and if these are too many for all."""
    if len(files) <= most:
        return dict(files)
    folders: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for name, digest in files.items():
        folders[f"{PurePosixPath(name).parent}/"][name] = digest
    if len(folders) > most:
        return {EVERYTHING: digest_all(files)}
    return {folder: digest_all(inside) for folder, inside in sorted(folders.items())}


def digest_size(size: int) -> str:
    """What stands for a file of so many bytes that is too large to be read."""
    return _digest([f"{size} bytes"])


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:32]
