"""JUnit XML, as CI systems read it: a suite of test cases that passed, failed, or could not be judged.

There is no one standard. This keeps to the schema of Ant's JUnit reports, the strictest in use: all its
attributes, in its order, and a time stamp without a zone. https://github.com/windyroad/JUnit-Schema
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree as xml

from samerun.report.json import write_text
from samerun.report.safe_text import clean
from samerun.runs.manifest import Manifest

WIDTH = 100  # columns of a report in text
_LONGEST = 400  # characters of a message: CI systems show it on one line
_NO_TIME = "1970-01-01T00:00:00"

# What XML 1.0 may hold, less what `clean` replaces: https://www.w3.org/TR/xml/#charsets
_FORBIDDEN = re.compile("[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Case:
    """One test case. `kind` is None where it passed."""

    name: str
    seconds: float
    kind: Literal["failure", "error"] | None = None
    message: str = ""


@dataclass(frozen=True)
class Suite:
    """What a verb found."""

    command: str  # what was run, or what stands for it
    verdict: str
    cases: Sequence[Case]
    said: str  # the whole report, as text
    properties: Sequence[tuple[str, str]] = ()
    first: Manifest | None = None  # of the first run: when it began


def write_suite(suite: Suite, target: str) -> None:
    """Write the XML to the file `target` ("-": standard output).

    Raises UsageError when it cannot be written.
    """
    write_text(render_suite(suite), target, "--junit")


def render_suite(suite: Suite) -> str:
    """The XML. The report stands in each case that did not pass; in a suite that passed, below it."""
    cases = suite.cases
    said = _replace_forbidden(suite.said) + "\n"
    root = xml.Element("testsuites")
    element = xml.SubElement(
        root,
        "testsuite",
        id="0",
        package="samerun",
        name=_format_token(suite.command),
        timestamp=_format_timestamp(suite.first),
        hostname="localhost",
        tests=str(len(cases)),
        failures=str(sum(case.kind == "failure" for case in cases)),
        errors=str(sum(case.kind == "error" for case in cases)),
        skipped="0",
        time=f"{sum(case.seconds for case in cases):.3f}",
    )
    properties = xml.SubElement(element, "properties")
    for name, value in suite.properties:
        xml.SubElement(properties, "property", name=name, value=_replace_forbidden(clean(value)))
    for case in cases:
        name = _format_token(f"{suite.command}: {case.name}")
        tested = xml.SubElement(
            element, "testcase", classname="samerun", name=name, time=f"{case.seconds:.3f}"
        )
        if case.kind is not None:
            message = _replace_forbidden(case.message)
            xml.SubElement(tested, case.kind, message=message, type=suite.verdict).text = said
    passed = all(case.kind is None for case in cases)
    xml.SubElement(element, "system-out").text = said if passed else ""
    xml.SubElement(element, "system-err")
    xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def shorten(value: str) -> str:
    """On one line, and not too long for it."""
    line = " ".join(clean(value).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _format_timestamp(manifest: Manifest | None) -> str:
    """When the first run began, UTC: the schema forbids a zone."""
    found = re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", manifest.started if manifest else "")
    return found[0] if found else _NO_TIME


def _format_token(value: str) -> str:
    """A value without spaces at its ends or two in a row, as xs:token is."""
    return " ".join(_replace_forbidden(clean(value)).split()) or "samerun"


def _replace_forbidden(value: str) -> str:
    return _FORBIDDEN.sub("?", value)
