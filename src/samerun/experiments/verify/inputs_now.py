"""The files that a lock names, as they are now: read below its folder alone."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from samerun.digest import digest_bytes
from samerun.experiments.lock.named_files import digest_size
from samerun.recording.opened_files import WHOLE
from samerun.runs import untrusted
from samerun.runs.lock.content import OUTSIDE


def digest_now(folder: Path, names: Iterable[str], key: str = "") -> dict[str, str | None]:
    """The digest of each file that lies below `folder`, None where it is gone.

    `key` is that of the digest: "file" for inputs. Without those that only a run can tell: files elsewhere,
    whole folders, what links lead out to.
    """
    found: dict[str, str | None] = {}
    for name in names:
        if not name.startswith(OUTSIDE) and not name.endswith("/"):
            path = folder / name
            if _lies_below(path, folder):
                found[name] = _digest(path, key)
    return found


def _lies_below(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # links that lead to each other
        return False


def _digest(path: Path, key: str) -> str | None:
    """As the recorder digests what it sees opened."""
    try:
        with untrusted.open_file(path, 2**62, follow=True) as file:
            size = os.fstat(file.fileno()).st_size
            if size <= WHOLE:
                return digest_bytes(file.read(WHOLE), key).hex()
            return digest_size(size)
    except OSError:
        return None
