"""The consoles that reports write to."""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO

from rich.console import Console


def make_console(file: TextIO | None = None) -> Console:
    """A console on `file` (default: standard output): colours on a terminal only, and none with NO_COLOR.

    FORCE_COLOR, which notebooks and many a CI set, gives colours to a file too, but no animation.
    """
    file = sys.stdout if file is None else file
    if isinstance(file, io.TextIOWrapper):
        # A file name or a locale must not cost the report.
        file.reconfigure(errors="backslashreplace")
    moves = None if file.isatty() else False
    return _Console(file=file, highlight=False, markup=False, emoji=False, force_interactive=moves)


class _Console(Console):
    """Whose reader may go (`| head`): that changes neither the exit code nor files that were asked for."""

    def on_broken_pipe(self) -> None:
        """Say nothing from here on; rich would end the process, with an exit code that means `differs`."""
        self.quiet = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.file.fileno())
        os.close(nowhere)
