"""A file's content replaced, whole or not at all, and in no other file that shares its memory on disk."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path


def write_anew(path: Path, data: bytes) -> None:
    """Put a new file with this content in the place of `path`, with its mode. Raises OSError."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        temporary.write_bytes(data)
        if path.exists():
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
