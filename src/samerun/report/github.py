"""A result for GitHub Actions: a note at the line of the user's code, and the summary of the job.

The form of the notes: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from samerun.errors import UsageError
from samerun.runs.notebook import parse_cell_name
from samerun.runs.source_lines import parse_site

SUMMARY = "GITHUB_STEP_SUMMARY"  # the file that becomes the summary of the job
_LEVELS = {"differs": "error", "unknown": "warning", "stale": "warning"}


def write_annotation(result: Mapping[str, Any], text: str) -> str:
    """The command that puts the first line of `text` and the causes beside the line that differs first.

    `result` is the JSON of a result. "" where the runs are the same.
    """
    level = _LEVELS.get(str(result.get("verdict")))
    if level is None:
        return ""
    place = result.get("first_difference") or {}
    causes = result.get("causes") or []
    site = next((cause["call_site"] for cause in causes if cause.get("call_site")), place.get("call_site"))
    message = "\n".join((text.split("\n", 1)[0].strip(), *_list_causes(causes)))
    properties = ",".join(f"{key}={_escape(value, ':,')}" for key, value in _list_properties(site))
    return f"::{level} {properties}::{_escape(message)}\n"


def add_to_summary(text: str) -> None:
    """Add Markdown to the summary of the job, where there is one. Raises UsageError where it cannot be."""
    path = os.environ.get(SUMMARY)
    if not path:
        return
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{SUMMARY} names {path}, which cannot be written: {error.strerror}") from None


def _list_causes(causes: list[dict[str, Any]]) -> Iterator[str]:
    for cause in causes:
        sure = "" if cause.get("confirmed") else " (not confirmed)"
        yield f"{cause.get('source')}{sure}: {cause.get('advice')}"


def _list_properties(site: str | None) -> Iterator[tuple[str, str]]:
    at = parse_site(site)
    if at is not None:
        cell = parse_cell_name(at[0])
        yield "file", at[0] if cell is None else cell[0]
        if cell is None:
            yield "line", str(at[1])
    yield "title", "samerun"


def _escape(value: str, more: str = "") -> str:
    return "".join(f"%{ord(letter):02X}" if letter in f"%\r\n{more}" else letter for letter in value)
