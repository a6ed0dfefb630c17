"""The files that a lock names, as they are now: read below its folder alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from samerun.digest import digest_bytes
from samerun.recording.opened_files import WHOLE
from samerun.runs import untrusted
from samerun.runs.lock import OUTSIDE


def digest_now(folder: Path, names: Iterable[str], key: str = "") -> dict[str, str | None]:
    """The digest of each file that lies below `folder`, None where it is gone.

    `key` is that of the digest: "file" for inputs. Without those that only a run can tell: files elsewhere,
    whole folders, what links lead out to.
    """
    found: dict[str, str | None] = {}
    for name in names:
        if not name.startswith(OUTSIDE) and not name.endswith("/"):
            path = folder / name
            if path.resolve().is_relative_to(folder.resolve()):
                found[name] = _digest(path, key)
    return found


def _digest(path: Path, key: str) -> str | None:
    """As the recorder digests what it sees opened."""
    try:
        with untrusted.open_file(path, 2**62, follow=True) as file:
            data = file.read(WHOLE + 1)
            if len(data) <= WHOLE:
                return digest_bytes(data, key).hex()
            size = path.stat().st_size
            return hashlib.sha256(f"{size} bytes".encode()).hexdigest()[:32]
    except OSError:
        return None
