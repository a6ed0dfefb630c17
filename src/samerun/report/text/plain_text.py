"""The report as text without colours, to stand in a file or to be pasted."""

from __future__ import annotations

import io
from collections.abc import Callable

from rich.console import Console

from samerun.experiments.diagnose.result import Diagnosis
from samerun.report.text import check
from samerun.report.text import diagnosis as of_diagnosis


def render_plain(diagnosis: Diagnosis, width: int) -> str:
    """The lines that a terminal of so many columns shows of a diagnosis."""
    if any(item.proof is not None for item in diagnosis.found):
        return render_text(lambda console: of_diagnosis.show(diagnosis, console), width)
    return render_text(lambda console: check.show(diagnosis.check, console), width)


def render_text(show: Callable[[Console], None], width: int) -> str:
    """The lines that a terminal of so many columns shows of any result."""
    file = io.StringIO()
    show(Console(file=file, width=width, highlight=False, markup=False, emoji=False, color_system=None))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())
