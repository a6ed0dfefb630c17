"""In a process that runs one test: keeps how it ended and from which generators it drew."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest

from samerun.integrations.pytest_plugin.observed import Observed, write_observed
from samerun.runs.plan import VARIABLE
from samerun.sources.base.rng import Rng
from samerun.sources.catalogue import find_sources


class Observer:
    """A pytest plugin that writes, for each test, a file into `folder`."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._reports: list[pytest.TestReport] = []
        self._states: dict[str, str] = {}  # of the generators, as last seen

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, None, None]:
        """Look at the generators before it, and write what was seen after it."""
        before = self._states = _digest_states()
        yield
        drawn = {id_: state for id_, state in self._states.items() if before.get(id_, state) != state}
        write_observed(self._folder / f"{_read_run()}.json", _observe(self._reports, drawn))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, None, None]:
        """Look at the generators after it."""
        yield
        self._states = _digest_states()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None, None, None]:
        """Look at them once more: what is torn down may well seed them anew."""
        yield
        self._states = _digest_states()

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


def _digest_states() -> dict[str, str]:
    """The states of the generators that this process has, by the id of the source."""
    generators = {id_: source for id_, source in find_sources().items() if isinstance(source, Rng)}
    return {
        id_: state.hex()
        for id_, source in generators.items()
        if source.in_play() and (state := source.digest()) is not None
    }


def _read_run() -> str:
    """The id of the run that this process is."""
    return Path(json.loads(os.environ[VARIABLE])["run"]).name
