"""In a process that runs one test: keeps how it ended and from which generators it drew."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest

from samerun.integrations.pytest_plugin.generator_states import GeneratorStates
from samerun.integrations.pytest_plugin.observed import Observed, write_observed
from samerun.runs.plan import VARIABLE


class Observer:
    """A pytest plugin that writes, for each test, a file into `folder`."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._reports: list[pytest.TestReport] = []
        self._states = GeneratorStates()
        self._drawn: dict[str, str] = {}

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, None, None]:
        """Look at the generators before it, and write what was seen after it."""
        self._states, self._drawn = GeneratorStates(), {}
        path = self._folder / f"{_read_run()}.json"
        write_observed(path, Observed("begun", "call", "", "", {}))
        yield
        write_observed(path, _observe(self._reports, self._drawn))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, None, None]:
        """Look at the generators after it."""
        yield
        self._drawn = self._states.find_drawn()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None, None, None]:
        """Look at them once more: what is torn down may well seed them anew."""
        yield
        self._drawn = self._states.find_drawn()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the reports of setup, call and teardown."""
        self._reports.append(report)


def _observe(reports: list[pytest.TestReport], drawn: dict[str, str]) -> Observed:
    failed = next((report for report in reports if report.failed), None)
    skipped = next((report for report in reports if report.skipped), None)
    if failed is not None:
        crash = getattr(failed.longrepr, "reprcrash", None)
        message = str(getattr(crash, "message", failed.longrepr))
        return Observed("failed", failed.when, message, failed.longreprtext, drawn)
    if skipped is not None:
        expected = getattr(skipped, "wasxfail", None)
        if expected is not None:
            return Observed("xfailed", skipped.when, str(expected), skipped.longreprtext, drawn)
        said = skipped.longrepr[2] if isinstance(skipped.longrepr, tuple) else str(skipped.longrepr)
        return Observed("skipped", skipped.when, said.removeprefix("Skipped: "), "", drawn)
    return Observed("passed", "call", "", "", drawn)


def _read_run() -> str:
    """The id of the run that this process is."""
    return Path(json.loads(os.environ[VARIABLE])["run"]).name
