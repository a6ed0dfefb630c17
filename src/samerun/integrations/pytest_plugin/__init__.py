"""The pytest plugin: `@pytest.mark.samerun`, `--samerun` and three fixtures.

Off until one of them is used: until then pytest imports this file alone.

PYTEST_DONT_REWRITE: there is no assert to explain here, and to rewrite it takes time.
"""

from __future__ import annotations

import contextlib
import functools
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

_MARK = "samerun"
_LINE = (
    "samerun(runs=2, controlled=True): run the test in so many fresh processes, with every source of "
    "randomness controlled, and fail unless all of them give the same bits"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare `--samerun`, and the option of the processes that it starts."""
    group = parser.getgroup("samerun")
    group.addoption(
        "--samerun",
        action="store_true",
        help="run each test in fresh processes, nothing controlled, and fail those that are not repeatable",
    )
    group.addoption(
        "--samerun-update",
        action="store_true",
        help="write the locks of tests that use the fixture samerun_lock, and report which digests moved",
    )
    group.addoption("--samerun-observed", metavar="FOLDER", help="internal: where to say what a test did")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark; observe the test where this is one of the processes that run it."""
    config.addinivalue_line("markers", _LINE)
    folder = config.getoption("samerun_observed")
    if folder:
        from samerun.integrations.pytest_plugin.observe_test import Observer

        config.pluginmanager.register(Observer(folder), "samerun-observer")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give a worker of xdist the command line, which it does not know itself."""
    from samerun.integrations.pytest_plugin.single_test import keep_arguments

    node.workerinput["samerun_arguments"] = keep_arguments(node.config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse a mark with arguments that there are not, before any test runs."""
    for item in items:
        mark = item.get_closest_marker(_MARK)
        if mark is not None:
            _read_mark(item, mark)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test in fresh processes in place of this one, where it is asked for."""
    mark = item.get_closest_marker(_MARK)
    every = item.config.getoption("samerun")
    # Within a run the test is run as it is: by us, or by a user who checks the whole suite.
    if (mark is None and not every) or "SAMERUN_PLAN" in os.environ or item.get_closest_marker("skip"):
        return None
    from samerun.integrations.pytest_plugin.run_protocol import run_protocol

    runs, controlled = (2, False) if mark is None else _read_mark(item, mark)
    run_protocol(item, nextitem, runs=runs, controlled=controlled)
    return True


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say which tests are not repeatable, and why; and which locks were written."""
    every, update = config.getoption("samerun"), config.getoption("samerun_update")
    if not every and not update:
        return
    from samerun.integrations.pytest_plugin.locked_test import list_updates
    from samerun.integrations.pytest_plugin.summary import list_lines

    reports = [report for of_word in terminalreporter.stats.values() for report in of_word]
    lines = [*(list_lines(reports) if every else ()), *list_updates(reports)]
    if lines:
        terminalreporter.section("samerun")
        for line in lines:
            terminalreporter.line(line)


@pytest.fixture
def samerun_control() -> Iterator[None]:
    """The test runs with every source controlled, as by `samerun.control()`."""
    import samerun

    with contextlib.ExitStack() as stack:
        with _keep_as_warnings():
            stack.enter_context(samerun.control())
        yield


@pytest.fixture
def samerun_same() -> Callable[..., None]:
    """`samerun.testing.assert_same_run`: calls a function several times and compares what it returns."""
    from samerun.testing import assert_same_run

    return _make_warn_only(assert_same_run)


@pytest.fixture
def samerun_lock(request: pytest.FixtureRequest) -> Callable[..., None]:
    """`samerun.testing.assert_locked`, with a file of the test's own; --samerun-update writes it."""
    from samerun.integrations.pytest_plugin.locked_test import make_assert

    return _make_warn_only(make_assert(request.node))


@contextlib.contextmanager
def _keep_as_warnings() -> Iterator[None]:
    """What a running process can control no more is a warning, also in a suite that makes errors of them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("default", "PYTHONHASHSEED", UserWarning)
        yield


def _make_warn_only(function: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> None:
        __tracebackhide__ = True
        with _keep_as_warnings():
            function(*args, **options)

    return call


def _read_mark(item: pytest.Item, mark: pytest.Mark) -> tuple[int, bool]:
    """(runs, controlled) of a mark. Raises pytest.UsageError for what it does not take."""
    known = {"runs": 2, "controlled": True}
    given = {**known, **mark.kwargs}
    if mark.args or set(given) != set(known):
        raise pytest.UsageError(f"{item.nodeid}: the mark is {_LINE.partition(':')[0]}, not {mark}")
    runs, controlled = given["runs"], given["controlled"]
    if not isinstance(runs, int) or isinstance(runs, bool) or runs < 2:
        raise pytest.UsageError(f"{item.nodeid}: runs is {runs!r}; give 2 or more")
    return runs, bool(controlled)
