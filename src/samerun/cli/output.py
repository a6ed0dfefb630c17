"""Puts a verdict where the user asked for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from samerun.experiments.check.result import CheckResult
    from samerun.experiments.diagnose.result import Diagnosis


def report(result: CheckResult, json_target: str | None) -> None:
    """Show the result as text, and write it as JSON where asked for.

    With JSON on standard output the text goes to standard error.
    """
    from samerun.report.console import console
    from samerun.report.json import write_json
    from samerun.report.text.check import show

    show(result, console(sys.stderr if json_target == "-" else sys.stdout))
    if json_target is not None:
        write_json(result.to_json(), json_target)


def report_diagnosis(diagnosis: Diagnosis, json_target: str | None, patch_target: str | None) -> None:
    """As `report`, for a diagnosis; and write its patch where asked for."""
    from samerun.report.console import console
    from samerun.report.json import write_json, write_text
    from samerun.report.text.diagnosis import show

    show(diagnosis, console(sys.stderr if "-" in (json_target, patch_target) else sys.stdout), patch_target)
    if json_target is not None:
        write_json(diagnosis.to_json(), json_target)
    if patch_target is not None and diagnosis.patch is not None and diagnosis.patch.diff:
        write_text(diagnosis.patch.diff, patch_target, "--patch")


def put_out(
    show: Callable[[Console], None], to_json: Callable[[], Mapping[str, Any]], json_target: str | None
) -> None:
    """Show a result as text, and write it as JSON where asked for, as `report` does."""
    from samerun.report.console import console
    from samerun.report.json import write_json

    show(console(sys.stderr if json_target == "-" else sys.stdout))
    if json_target is not None:
        write_json(to_json(), json_target)
