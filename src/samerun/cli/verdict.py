"""Puts a verdict where the user asked for it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from samerun.experiments.result import CheckResult


def report(result: CheckResult, json_target: str | None) -> None:
    """Show the result as text, and write it as JSON where asked for.

    With JSON on standard output the text goes to standard error.
    """
    from samerun.report.console import console
    from samerun.report.json import write_json
    from samerun.report.text import show

    show(result, console(sys.stderr if json_target == "-" else sys.stdout))
    if json_target is not None:
        write_json(result.to_json(), json_target)
