"""What several observations of one test come to."""

from __future__ import annotations

import pytest

from samerun.experiments.check.result import CheckResult
from samerun.integrations.pytest_plugin import repeat_test
from samerun.integrations.pytest_plugin.observed import Observed, read_observed, write_observed
from samerun.runs.manifest import Manifest
from samerun.runs.store import Run

PASSED = Observed("passed", "call", "", "", {})


def failed(message: str = "assert 1 == 2", when: str = "call") -> Observed:
    return Observed("failed", when, message, f"E {message}", {})


@pytest.fixture
def judge(tmp_path):
    def judged(*seen: Observed | None, verdict="unknown", steps=0, prints=("", ""), code=None):
        runs = []
        for number, text in enumerate(prints):
            path = tmp_path / f"run{number}"
            path.mkdir(exist_ok=True)
            (path / "output.txt").write_text(text)
            Manifest(
                path.name, ("pytest",), "/there", "2026-11-20T00:00:00Z", outcome="finished", exit_code=code
            ).write(path)
            runs.append(Run(path))
        result = CheckResult(verdict, tuple(run.id for run in runs), steps=steps, reason="cut short")
        return repeat_test._judge(result, runs, seen)

    return judged


@pytest.mark.parametrize("item", [PASSED, failed(), Observed("skipped", "setup", "no GPU", "", {})])
def test_a_test_that_ends_alike_is_the_same_however_it_ends(judge, item) -> None:
    found = judge(item, item)
    assert (found.verdict, found.first) == ("same", item)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (failed(), "passed in run 1, failed in run 2: assert 1 == 2"),
        (failed(when="teardown"), "passed in run 1, failed in teardown in run 2"),
        (Observed("skipped", "call", "", "", {}), "passed in run 1, skipped in run 2"),
    ],
)
def test_another_ending_differs(judge, other, why: str) -> None:
    found = judge(PASSED, other)
    assert found.verdict == "differs" and found.why.startswith(why)


def test_another_message_differs_but_not_another_address(judge) -> None:
    assert judge(failed("assert 0.25 < 0.2"), failed("assert 0.5 < 0.2")).verdict == "differs"


def test_another_address_is_no_other_message(judge) -> None:
    one, other = (
        failed(f"<T object at 0x7f{number}a> failed in /tmp/pytest-{number}/x") for number in (1, 2)
    )
    assert judge(one, other).verdict == "same"


def test_values_drawn_from_a_generator_differ_by_the_state_it_was_left_in(judge) -> None:
    one, other = (Observed("passed", "call", "", "", {"numpy-global": state}) for state in ("aa", "bb"))
    found = judge(one, other)
    assert found.verdict == "differs" and found.why.startswith("numpy-global: the values that it drew differ")


def test_a_generator_that_only_one_run_drew_from_differs(judge) -> None:
    drew = Observed("passed", "call", "", "", {"python-random": "aa"})
    assert judge(PASSED, drew).verdict == judge(drew, PASSED).verdict == "differs"


def test_values_drawn_alike_are_the_same(judge) -> None:
    drew = Observed("passed", "call", "", "", {"python-random": "aa"})
    assert judge(drew, drew).verdict == "same"


def test_a_printed_result_differs_and_a_time_does_not(judge) -> None:
    found = judge(PASSED, PASSED, prints=("accuracy 0.5\n", "accuracy 0.25\n"))
    assert found.verdict == "differs" and "accuracy 0.25" in found.why


def test_a_time_that_is_printed_is_no_result(judge) -> None:
    assert judge(PASSED, PASSED, prints=("1 passed in 0.51s\n", "1 passed in 0.62s\n")).verdict == "same"


@pytest.mark.parametrize(
    ("code", "said"),
    [(7, "its process ended with exit code 7"), (-11, "its process was ended by signal 11")],
)
def test_a_test_that_ends_its_process_is_said_to(judge, code: int, said: str) -> None:
    begun = Observed("begun", "call", "", "", {})
    found = judge(begun, begun, code=code)
    assert (found.verdict, found.why) == ("unknown", f"{said} before the test was over, in each run")
    found = judge(PASSED, begun, code=code)
    assert (found.verdict, found.why) == ("differs", f"in one run {said} before the test was over")


def test_it_is_never_the_same_by_default(judge) -> None:
    assert judge(None, None).verdict == "unknown"
    assert judge(PASSED, None).verdict == "differs"
    assert judge(PASSED, PASSED, verdict="unknown", steps=3).why == "cut short"


def test_what_was_observed_is_read_back(tmp_path) -> None:
    write_observed(tmp_path / "a" / "b.json", failed())
    assert read_observed(tmp_path / "a" / "b.json") == failed()
    assert read_observed(tmp_path / "none.json") is None
    (tmp_path / "cut.json").write_text('{"outcome": "pa')
    assert read_observed(tmp_path / "cut.json") is None
