"""Puts a result where the user asked for it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def put_out(
    show: Callable[[Console], None], to_json: Callable[[], Mapping[str, Any]], options: argparse.Namespace
) -> None:
    """Show a result as text, and write it as JSON where --json asks for it.

    With JSON or a patch on standard output the text goes to standard error.
    """
    from samerun.report.console import make_console
    from samerun.report.json import write_json

    taken = "-" in (options.json, getattr(options, "patch", None))
    show(make_console(sys.stderr if taken else sys.stdout))
    if options.json is not None:
        write_json(to_json(), options.json)
