"""A verdict as JUnit XML, as CI systems read it: one test case for each run held against the first.

There is no one standard. This keeps to the schema of Ant's JUnit reports, the strictest in use: all its
attributes, in its order, and a time stamp without a zone. https://github.com/windyroad/JUnit-Schema
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree as xml

from samerun.errors import SamerunError
from samerun.experiments.diagnose.result import Diagnosis
from samerun.experiments.lookup import Lookup
from samerun.report.json import write_text
from samerun.report.safe_text import clean
from samerun.report.text import first_difference
from samerun.report.text.plain_text import render_plain
from samerun.runs.manifest import Manifest

_WIDTH = 100
_LONGEST = 400  # characters of a message: CI systems show it on one line
_NO_TIME = "1970-01-01T00:00:00"

# What XML 1.0 may hold, less what `clean` replaces: https://www.w3.org/TR/xml/#charsets
_FORBIDDEN = re.compile("[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class _Case:
    name: str
    seconds: float
    kind: Literal["failure", "error"] | None = None
    message: str = ""


def write(diagnosis: Diagnosis, lookup: Lookup, target: str) -> None:
    """Write the XML to the file `target` ("-": standard output).

    Raises UsageError when it cannot be written.
    """
    write_text(render(diagnosis, lookup), target, "--junit")


def render(diagnosis: Diagnosis, lookup: Lookup) -> str:
    """The XML. `differs` is a failure and `unknown` an error: neither ever passes."""
    check = diagnosis.check
    manifests = [_find_manifest(lookup, name) for name in check.runs]
    cases = list(_build_cases(diagnosis, [item.duration_s or 0.0 if item else 0.0 for item in manifests]))
    command = shlex.join(check.command) or "recorded runs"
    said = _replace_forbidden(render_plain(diagnosis, _WIDTH)) + "\n"
    root = xml.Element("testsuites")
    suite = xml.SubElement(
        root,
        "testsuite",
        id="0",
        package="samerun",
        name=_format_token(command),
        timestamp=_format_timestamp(manifests[0] if manifests else None),
        hostname="localhost",
        tests=str(len(cases)),
        failures=str(sum(case.kind == "failure" for case in cases)),
        errors=str(sum(case.kind == "error" for case in cases)),
        skipped="0",
        time=f"{sum(case.seconds for case in cases):.3f}",
    )
    properties = xml.SubElement(suite, "properties")
    for name, value in _list_properties(diagnosis):
        xml.SubElement(properties, "property", name=name, value=_replace_forbidden(value))
    for case in cases:
        element = xml.SubElement(
            suite,
            "testcase",
            classname="samerun",
            name=_format_token(f"{command}: {case.name}"),
            time=f"{case.seconds:.3f}",
        )
        if case.kind is not None:
            why = xml.SubElement(
                element, case.kind, message=_replace_forbidden(case.message), type=check.verdict
            )
            why.text = said
    xml.SubElement(suite, "system-out").text = said if check.verdict == "same" else ""
    xml.SubElement(suite, "system-err")
    xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def _build_cases(diagnosis: Diagnosis, seconds: list[float]) -> Iterator[_Case]:
    check = diagnosis.check
    message = _write_message(diagnosis)
    verdicts = check.verdicts
    if len(verdicts) != len(check.runs) - 1 or (check.verdict == "differs" and "differs" not in verdicts):
        verdicts = (check.verdict,)  # decided by other runs than these
    for number, verdict in enumerate(verdicts, start=2):
        whole = len(verdicts) == 1
        runs = f"{len(check.runs)} runs" if whole else f"run 1 and run {number}"
        name = f"{runs} give the same bits"
        time = sum(seconds) if whole else seconds[number - 1]
        if check.verdict == "same":
            yield _Case(name, time)
        elif check.verdict == "unknown" or verdict == "unknown":
            yield _Case(name, time, "error", message)
        elif verdict == "same":
            yield _Case(name, time)
        else:
            yield _Case(name, time, "failure", message)


def _write_message(diagnosis: Diagnosis) -> str:
    """The first difference and what is behind it, on one line."""
    check = diagnosis.check
    first = check.difference
    if check.verdict != "differs" or first is None:
        return _shorten(check.reason or "nothing to compare")
    site = first_difference.call_site(first)
    where = f"the runs diverge {first_difference.write_headline(first)}" + (f" ({site})" if site else "")
    named = [
        f"{cause.source} ({'confirmed' if cause.confirmed else 'not confirmed'})" for cause in check.causes
    ]
    return _shorten(f"{where}; cause: {', '.join(named) or 'no source of the catalogue explains it'}")


def _list_properties(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    check = diagnosis.check
    yield "verdict", check.verdict
    yield "scope", clean(check.scope)
    for number, run in enumerate(check.runs, start=1):
        yield f"run {number}", clean(run)
    for number, cause in enumerate(check.causes, start=1):
        yield f"cause {number}", clean(cause.source)


def _find_manifest(lookup: Lookup, name: str) -> Manifest | None:
    run = lookup.find(name)
    try:
        return None if run is None else run.manifest
    except SamerunError:
        return None


def _format_timestamp(manifest: Manifest | None) -> str:
    """When the first run began, UTC: the schema forbids a zone."""
    found = re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", manifest.started if manifest else "")
    return found[0] if found else _NO_TIME


def _format_token(value: str) -> str:
    """A value without spaces at its ends or two in a row, as xs:token is."""
    return " ".join(_replace_forbidden(clean(value)).split()) or "samerun"


def _shorten(value: str) -> str:
    line = " ".join(clean(value).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _replace_forbidden(value: str) -> str:
    return _FORBIDDEN.sub("?", value)
