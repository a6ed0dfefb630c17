"""The folders of sockets that multiprocessing makes, and that a process which is killed leaves behind.

`multiprocessing.util.get_temp_dir` makes one in each process that shares memory with another, and removes it
when Python ends there.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

_PREFIX = "pymp-"


@contextmanager
def remove_afterwards(processes: Iterable[psutil.Process], since: float) -> Iterator[None]:
    """Remove, at the end, those of these processes that were made since then (Unix time, in seconds)."""
    folders = set(_find(processes))
    yield
    for folder in folders:
        try:
            found = folder.lstat()
        except OSError:
            continue
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and found.st_mtime >= since:
            shutil.rmtree(folder, ignore_errors=True)


def _find(processes: Iterable[psutil.Process]) -> Iterator[Path]:
    for process in processes:
        # `connections` is its name before psutil 6.
        list_all = getattr(process, "net_connections", None) or process.connections
        try:
            found = list_all(kind="unix")
        except (psutil.Error, OSError):
            continue
        for connection in found:
            folder = Path(connection.laddr).parent if isinstance(connection.laddr, str) else Path()
            if folder.is_absolute() and folder.name.startswith(_PREFIX):
                yield folder
