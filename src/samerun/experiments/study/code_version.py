"""What stands for the code of a command: results of other code must not be taken for its own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from samerun.runs import untrusted
from samerun.runs.provenance import describe_git

_PACKAGES = ("torch", "numpy")
_LARGEST = 8 << 20  # bytes of a file named in the command; beyond that it is data, known by its size and time


def digest_code(command: Sequence[str], folder: Path) -> str:
    """A digest over the state of git, the files that the command names, and the versions that matter.

    A module that the command imports counts where git follows it.
    """
    seen = hashlib.sha256(json.dumps(describe_git(folder), sort_keys=True, default=str).encode())
    for word in command:
        path = folder / word
        try:
            if not path.is_file():
                continue
            known = path.stat()
            seen.update(word.encode())
            if known.st_size <= _LARGEST:
                seen.update(untrusted.read_bytes(path, _LARGEST, follow=True))
            else:
                seen.update(f"{known.st_size} {known.st_mtime_ns}".encode())
        except (OSError, ValueError):
            continue
    for name in _PACKAGES:
        try:
            seen.update(f"{name} {version(name)}".encode())
        except PackageNotFoundError:
            continue
    return seen.hexdigest()[:16]
