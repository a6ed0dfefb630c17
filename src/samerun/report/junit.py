"""A verdict on runs as JUnit XML: one test case for each run compared with the first."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from samerun.errors import SamerunError
from samerun.experiments.diagnose.result import Diagnosis
from samerun.experiments.lookup import Lookup
from samerun.report.junit_suite import WIDTH, Case, Suite, render_suite, shorten, write_suite
from samerun.report.text import first_difference
from samerun.report.text.plain_text import render_plain
from samerun.report.text.shown_code import call_site
from samerun.runs.manifest import Manifest


def write(diagnosis: Diagnosis, lookup: Lookup, target: str) -> None:
    """Write the XML to the file `target` ("-": standard output).

    Raises UsageError when it cannot be written.
    """
    write_suite(_build_suite(diagnosis, lookup), target)


def render(diagnosis: Diagnosis, lookup: Lookup) -> str:
    """The XML. `differs` is a failure and `unknown` an error: neither ever passes."""
    return render_suite(_build_suite(diagnosis, lookup))


def _build_suite(diagnosis: Diagnosis, lookup: Lookup) -> Suite:
    check = diagnosis.check
    manifests = [find_manifest(lookup, name) for name in check.runs]
    return Suite(
        shlex.join(check.command) or "recorded runs",
        check.verdict,
        list(_build_cases(diagnosis, [item.duration_s or 0.0 if item else 0.0 for item in manifests])),
        render_plain(diagnosis, WIDTH),
        list(_list_properties(diagnosis)),
        manifests[0] if manifests else None,
    )


def _build_cases(diagnosis: Diagnosis, seconds: list[float]) -> Iterator[Case]:
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
            yield Case(name, time)
        elif check.verdict == "unknown" or verdict == "unknown":
            yield Case(name, time, "error", message)
        elif verdict == "same":
            yield Case(name, time)
        else:
            yield Case(name, time, "failure", message)


def _write_message(diagnosis: Diagnosis) -> str:
    """The first difference and what is behind it, on one line."""
    check = diagnosis.check
    first = check.difference
    if check.verdict != "differs" or first is None:
        return shorten(check.reason or "nothing to compare")
    site = call_site(first)
    where = f"the runs diverge {first_difference.write_headline(first)}" + (f" ({site})" if site else "")
    named = [
        f"{cause.source} ({'confirmed' if cause.confirmed else 'not confirmed'})" for cause in check.causes
    ]
    return shorten(f"{where}; cause: {', '.join(named) or 'no source of the catalogue explains it'}")


def _list_properties(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    check = diagnosis.check
    yield "verdict", check.verdict
    yield "scope", check.scope
    for number, run in enumerate(check.runs, start=1):
        yield f"run {number}", run
    for number, cause in enumerate(check.causes, start=1):
        yield f"cause {number}", cause.source


def find_manifest(lookup: Lookup, name: str) -> Manifest | None:
    """That of a run, None where it is gone or damaged."""
    run = lookup.find(name)
    try:
        return None if run is None else run.manifest
    except SamerunError:
        return None
