"""What pytest reports of a test that ran in fresh processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.integrations.pytest_plugin.repeat_test import Repeated, repeat_test
from samerun.integrations.pytest_plugin.single_test import build_command
from samerun.runs.plan import Control


def run_protocol(item: pytest.Item, nextitem: pytest.Item | None, *, runs: int, controlled: bool) -> None:
    """Run the test, report on it, and tear down what tests before it have set up and no later one needs."""
    found: list[Repeated] = []

    def call() -> None:
        control = Control() if controlled else None
        folder = Path(item.config.invocation_params.dir)
        found.append(repeat_test(lambda seen: build_command(item, seen), folder, runs, control))
        _end_as(found[0], runs)

    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    ended = (pytest.exit.Exception, KeyboardInterrupt)
    made = pytest.CallInfo.from_call(call, when="call", reraise=ended)
    report = item.ihook.pytest_runtest_makereport(item=item, call=made)
    if found:
        # A plain value, so that xdist carries it from its workers.
        report.samerun = {"verdict": found[0].verdict, "why": found[0].why, "runs": runs}
    item.ihook.pytest_runtest_logreport(report=report)
    state = item.session._setupstate
    torn = pytest.CallInfo.from_call(lambda: state.teardown_exact(nextitem), when="teardown", reraise=ended)
    item.ihook.pytest_runtest_logreport(report=item.ihook.pytest_runtest_makereport(item=item, call=torn))
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _end_as(found: Repeated, runs: int) -> None:
    """End as the test did in every run, or fail where they are not known to be the same."""
    if found.verdict != "same":
        word = "is not repeatable" if found.verdict == "differs" else "may not be repeatable"
        where = f"\n\nThe runs are kept in {found.kept}." if found.kept is not None else ""
        text = f"\n\n{found.text}" if found.text else ""
        pytest.fail(f"{word} in {runs} fresh processes: {found.why}{text}{where}", pytrace=False)
    assert found.first is not None
    if found.first.outcome == "failed":
        pytest.fail(f"the same in {runs} fresh processes:\n\n{found.first.text}", pytrace=False)
    if found.first.outcome == "skipped":
        pytest.skip(found.first.message)
    if found.first.outcome == "xfailed":
        pytest.xfail(found.first.message)
