"""Results as JSON, to a file or to standard output."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from samerun.errors import UsageError


def check_target(target: str | None, option: str = "--json") -> None:
    """Refuse a file that cannot be written before hours are spent on what goes into it."""
    if target is None or target == "-":
        return
    path = Path(target)
    if path.is_dir():
        raise UsageError(f"{option} {target} is a folder; name a file in it, or - for standard output")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{option} {target}: there is no folder {path.parent}; create it first")


def write_json(value: Mapping[str, Any], target: str) -> None:
    """Write one JSON object to the file `target`, or to standard output for "-".

    Raises UsageError when the file cannot be written.
    """
    write_text(json.dumps(value, indent=2, allow_nan=False) + "\n", target, "--json")


def write_text(text: str, target: str, option: str) -> None:
    """As `write_json`, for a text that `option` asked for."""
    if target == "-":
        sys.stdout.write(text)
        return
    try:
        Path(target).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{option} {target} could not be written ({error.strerror}); name another file"
        ) from error
