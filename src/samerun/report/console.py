"""The consoles that reports write to."""

from __future__ import annotations

import io
import sys
from typing import TextIO

from rich.console import Console


def make_console(file: TextIO | None = None) -> Console:
    """A console on `file` (default: standard output): colours on a terminal only, and none with NO_COLOR."""
    file = sys.stdout if file is None else file
    if isinstance(file, io.TextIOWrapper):
        # A file name or a locale must not cost the report.
        file.reconfigure(errors="backslashreplace")
    return Console(file=file, highlight=False, markup=False, emoji=False)
