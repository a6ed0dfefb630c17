"""A file beside a trace says that its process has nothing to do: whenever that ends, the trace is whole.

So wait the workers of a pool between two tasks, until `terminate()` ends them, as `with Pool(…)` does.
"""

from __future__ import annotations

from pathlib import Path

from samerun.runs.trace import SUFFIX

MARKER = ".rests"


def mark(trace: Path) -> None:
    """The process rests. Raises OSError."""
    _find_marker(trace).touch(0o600)


def unmark(trace: Path) -> None:
    """The process goes on. Raises OSError."""
    _find_marker(trace).unlink(missing_ok=True)


def is_marked(trace: Path) -> bool:
    """Whether the process rested at its end."""
    return _find_marker(trace).is_file()


def _find_marker(trace: Path) -> Path:
    return trace.with_name(trace.name.removesuffix(SUFFIX) + MARKER)
