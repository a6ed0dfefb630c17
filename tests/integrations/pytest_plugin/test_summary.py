"""The lines at the end of `pytest --samerun`."""

from __future__ import annotations

from types import SimpleNamespace

from samerun.integrations.pytest_plugin.summary import list_lines


def report(nodeid: str, verdict: str, why: str = "") -> SimpleNamespace:
    found = {"verdict": verdict, "why": why, "runs": 2}
    return SimpleNamespace(nodeid=nodeid, location=("../there/test_it.py", 3, "test"), samerun=found)


def test_those_that_are_not_repeatable_are_named_with_their_file_in_the_order_of_their_names() -> None:
    reports = [
        report("test_b.py::test_b", "differs", "a draw"),
        report("test_b.py::test_a", "unknown", "cut"),
        report("::test_c", "differs", "a clock"),
        report("test_b.py::test_d", "same"),
        SimpleNamespace(nodeid="test_b.py::test_plain"),
    ]
    head, _, *lines = list_lines(reports)
    assert head.startswith("4 tests, each alone in fresh processes: 1 repeatable, 3 not")
    assert lines == [
        "not repeatable: ../there/test_it.py::test_c: a clock",
        "unknown: test_b.py::test_a: cut",
        "not repeatable: test_b.py::test_b: a draw",
    ]


def test_nothing_is_said_where_no_test_ran_in_fresh_processes() -> None:
    assert list_lines([SimpleNamespace(nodeid="test_b.py::test_plain")]) == []
