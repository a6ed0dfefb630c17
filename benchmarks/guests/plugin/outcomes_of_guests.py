"""A pytest plugin that writes what became of each test, one JSON line a report, as it happens.

The lines written before a crash of the interpreter are kept. Loaded alike in every way of running a suite.
"""

from __future__ import annotations

import json
import os

import pytest

_FILE = os.environ["GUEST_OUTCOMES"]
_MESSAGE = 300  # characters kept of why a test failed


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    outcome = _outcome(report)
    if outcome is not None:
        _write(report.nodeid, outcome, report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _write(report.nodeid, "error", report)


def _outcome(report: pytest.TestReport) -> str | None:
    """What this phase of the test says of it; None for a set-up or a clean-up that went well."""
    expected = hasattr(report, "wasxfail")
    if report.failed:
        return "failed" if report.when == "call" else "error"
    if report.skipped:
        return "xfailed" if expected else "skipped"
    if report.when == "call":
        return "xpassed" if expected else "passed"
    return None


def _write(test: str, outcome: str, report: pytest.TestReport | pytest.CollectReport) -> None:
    why = "" if outcome == "passed" else _why(report)
    with open(_FILE, "a", encoding="utf-8") as file:
        file.write(json.dumps({"test": test, "outcome": outcome, "why": why}) + "\n")


def _why(report: pytest.TestReport | pytest.CollectReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash is not None else report.longrepr)[-_MESSAGE:]
