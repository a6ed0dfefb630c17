"""Be kind to the others on the machine."""
import os
import shutil
import socket
import tempfile
import time
from pathlib import Path

import psutil


def wait_for_calm(limit=64.0, pause=0.05, tries=3):
    """Waits a little while the machine is busy."""
    for _ in range(tries):
        if os.getloadavg()[0] < limit * (os.cpu_count() or 1):
            return
        time.sleep(pause)


def can_keep_in_memory(megabytes):
    return psutil.virtual_memory().available > megabytes * 2**20


def has_room(folder, megabytes):
    return shutil.disk_usage(folder).free > megabytes * 2**20


def free_port():
    """For the dashboard, which is told of it by a file."""
    with socket.socket() as s:
        s.bind(("localhost", 0))
        return s.getsockname()[1]


class Scratch:
    """A folder for this process alone."""

    def __init__(self):
        self.path = Path(tempfile.mkdtemp(prefix=f"fit-{os.getpid()}-"))

    def newest(self, pattern):
        found = sorted(self.path.glob(pattern), key=lambda path: path.stat().st_mtime_ns)
        return found[-1] if found else None

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)
