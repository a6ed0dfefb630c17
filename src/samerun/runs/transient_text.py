"""What in a text is another in each run and no result: times, paths, ids, addresses."""

from __future__ import annotations

import re

CLOCK = re.compile(
    r"\d{1,4}[-/:]\d{1,2}[-/:]\d{1,4}(?:[ T]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)?"
    # seconds since the epoch, from 2017 to 2033; also in thousandths and smaller parts
    r"|(?<![\d.])1[5-9]\d{8}(?:\d{3}){0,3}(?:\.\d+)?(?![\d.])"
)
_ID = re.compile(
    r"0x[0-9a-f]+|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}\b"
    r"|\b(?=[0-9a-f]*[a-f])(?=[a-f]*\d)[0-9a-f]{8,64}\b"
    r"|\b\d{6,}(?=[-_]\w)|(?<=\w[-_])\d{6,}\b",  # parts of one: a date and a time, or an id without letters
    re.IGNORECASE,
)
_PATH = re.compile(r"(?:~|\.{0,2}|\b[\w.-]+)(?:/[\w.@+-]+)+/?")


def strip_transient(text: str) -> str:
    """The text without them."""
    for pattern in (CLOCK, _PATH, _ID):
        text = pattern.sub(" ", text)
    return text


def blank_transient(text: str) -> str:
    """The text with spaces in the place of them: all else stays where it is."""
    for pattern in (CLOCK, _PATH, _ID):
        text = blank(pattern, text)
    return text


def blank_clock(text: str) -> str:
    """The same of times alone."""
    return blank(CLOCK, text)


def blank(pattern: re.Pattern[str], text: str) -> str:
    """The text with spaces in the place of what the pattern finds."""
    return pattern.sub(lambda found: " " * len(found.group()), text)
