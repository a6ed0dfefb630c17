"""What `lock` and `verify` found as JUnit XML: one test case, that the command gives its locked bits."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Literal

from samerun.experiments.lock.result import LockResult
from samerun.experiments.lookup import Lookup
from samerun.experiments.verify.result import VerifyResult
from samerun.report.junit import find_manifest
from samerun.report.junit_suite import WIDTH, Case, Suite, shorten, write_suite
from samerun.report.text import lock as lock_text
from samerun.report.text import verify as verify_text
from samerun.report.text.plain_text import render_text
from samerun.report.text.verify import describe_changed

# Any other answer is an error: nothing that was not compared passes.
_KINDS: Mapping[str, Literal["failure", "error"] | None] = {
    "same": None,
    "within": None,
    "differs": "failure",
}


def write_lock_junit(result: LockResult, lookup: Lookup, target: str) -> None:
    """Write the XML: it passes where the lock was written. Raises UsageError when it cannot be written."""
    check = result.check
    manifests = [find_manifest(lookup, run) for run in check.runs]
    said = render_text(lambda console: lock_text.show(result, console), WIDTH)
    kind = _KINDS.get(result.verdict, "error")
    case = Case(
        f"{result.path} is written",
        sum(item.duration_s or 0.0 for item in manifests if item is not None),
        kind,
        "" if kind is None else shorten(result.reason or check.reason or said.split("\n\n", 1)[0]),
    )
    properties = [("verdict", result.verdict), ("environment", result.environment or "")]
    first = manifests[0] if manifests else None
    command = shlex.join(check.command) or result.path
    write_suite(Suite(command, result.verdict, [case], said, properties, first), target)


def write_verify_junit(result: VerifyResult, lookup: Lookup | None, target: str) -> None:
    """Write the XML: `within` passes unless it was to be exact. Raises UsageError when it cannot be written.

    `lookup` finds the run, None where nothing was run.
    """
    manifest = None if lookup is None or result.run is None else find_manifest(lookup, result.run)
    said = render_text(lambda console: verify_text.show(result, console), WIDTH)
    kind = "failure" if result.exact and result.verdict == "within" else _KINDS.get(result.verdict, "error")
    name = "files, packages and variables are" if result.counted is not None else "the bits are"
    case = Case(
        f"{name} those of {result.path}",
        (manifest.duration_s or 0.0) if manifest else 0.0,
        kind,
        "" if kind is None else shorten(said.split("\n\n", 1)[0]),
    )
    properties = [
        ("verdict", result.verdict),
        ("environment", result.environment or ""),
        ("steps", str(result.steps)),
        ("run", result.run or ""),
        *(
            (f"changed {number}", line)
            for number, line in enumerate(describe_changed(result.changed), start=1)
        ),
    ]
    command = shlex.join(result.command) or result.path
    write_suite(Suite(command, result.verdict, [case], said, properties, manifest), target)
