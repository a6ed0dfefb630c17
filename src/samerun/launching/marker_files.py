"""The small files by which a started process tells how far it came, for when there is no trace."""

from __future__ import annotations

import os

PYTHON_SEEN = "python.seen"
TORCH_SEEN = "torch.seen"


def name_marker(source: str) -> str:
    """The file that says that a varied source was in play."""
    return f"varied-{source}.seen"


def mark(run: str, name: str) -> None:
    """Create the empty file `name` in the run's folder; a disk that cannot be written is ignored."""
    try:
        os.close(os.open(f"{run}/{name}", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except OSError:
        pass
