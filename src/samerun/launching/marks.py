"""The small files by which a started process tells how far it came, for when there is no trace."""

from __future__ import annotations

import os
import sys

PYTHON_SEEN = "python.seen"
TORCH_SEEN = "torch.seen"
COMPLAINTS = "inject-error.txt"  # sitecustomize.py writes it too, by this name


def mark(run: str, name: str) -> None:
    """Create the empty file `name` in the run's folder; a disk that cannot be written is ignored."""
    try:
        os.close(os.open(f"{run}/{name}", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    except OSError:
        pass


def complain(run: str, text: str) -> None:
    """Append one line on something of ours that failed; the user's process goes on."""
    line = f"{text} [process {os.getpid()}, {sys.executable}]\n"
    try:
        with open(f"{run}/{COMPLAINTS}", "a", encoding="utf-8", errors="replace") as file:
            file.write(line)
    except OSError:
        pass
