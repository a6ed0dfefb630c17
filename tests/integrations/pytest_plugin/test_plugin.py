"""The whole plugin, as a suite of a user meets it.

Covers `run_protocol.py`, `observe_test.py` and `summary.py`.
"""

from __future__ import annotations

import os
import re

import pytest

from integrations.pytest_plugin.suites import MARKED, PLAIN

pytest_plugins = ["pytester"]


@pytest.fixture(autouse=True)
def outside_of_runs(monkeypatch):
    monkeypatch.delenv("SAMERUN_PLAN", raising=False)


def run(pytester, text: str, *words: str):
    pytester.makepyfile(test_it=text)
    return pytester.runpytest_subprocess("-p", "no:hypothesispytest", *words, timeout=220)  # slow to import


def test_until_it_is_used_pytest_imports_nothing_else_of_samerun(pytester) -> None:
    text = """
    import sys
    def test_what_is_there():
        found = sorted(name for name in sys.modules if name.startswith("samerun"))
        assert found == ["samerun", "samerun.integrations", "samerun.integrations.pytest_plugin"]
        assert "torch" not in sys.modules and "pyarrow" not in sys.modules
    """
    run(pytester, text).assert_outcomes(passed=1)


def test_every_test_of_a_suite_is_tried_alone_and_those_that_differ_are_named(pytester) -> None:
    done = run(pytester, PLAIN, "--samerun", "-n", "2")
    done.assert_outcomes(passed=3, failed=2, skipped=1)
    said = done.stdout.str()
    assert "5 tests, each alone in fresh processes: 4 repeatable, 1 not" in said
    assert re.search(
        r"^not repeatable: test_it\.py::TestUnit::test_draws: python-random: .* nothing", said, re.M
    )
    assert "the same in 2 fresh processes" in said and "assert 1 == 2" in said
    assert not os.path.exists(pytester.path / ".samerun")


def test_a_mark_runs_its_test_in_fresh_processes_under_control_or_not(pytester) -> None:
    done = run(pytester, MARKED, "-v", "-rA")
    done.assert_outcomes(passed=3, failed=1)
    done.stdout.fnmatch_lines(
        ["is not repeatable in 2 fresh processes: python-random: *", "FAILED test_it.py::test_left_alone*"]
    )
    assert "each alone in fresh processes" not in done.stdout.str()  # that is for --samerun


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ("(runs=1)", "runs is 1; give 2 or more"),
        ("(seed=3)", "the mark is samerun(runs=2, controlled=True)"),
        ("(3)", "the mark is samerun(runs=2, controlled=True)"),
    ],
)
def test_a_mark_that_is_not_understood_is_refused_before_any_test(pytester, mark: str, said: str) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.samerun{mark}\ndef test_it(): ...\n")
    done = pytester.runpytest_inprocess()
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert said in done.stderr.str() + done.stdout.str()


def test_within_a_run_a_marked_test_is_run_as_it_is(pytester, monkeypatch) -> None:
    monkeypatch.setenv("SAMERUN_PLAN", '{"run": "/there/run"}')
    pytester.makepyfile(
        "import os, pytest\n@pytest.mark.samerun\ndef test_it(): assert os.getpid() == " + str(os.getpid())
    )
    pytester.runpytest_inprocess("-p", "no:cacheprovider", "--samerun").assert_outcomes(passed=1)


def test_fixtures(pytester) -> None:
    pytester.makepyfile(
        """
        import itertools, random
        import pytest

        def test_control(samerun_control):
            assert random.random() == pytest.approx(EXPECTED)

        def test_same(samerun_same):
            samerun_same(lambda: [random.random()])
            count = itertools.count()
            with pytest.raises(AssertionError, match="not the same"):
                samerun_same(lambda: [next(count)])
        """.replace("EXPECTED", repr(_draw_controlled()))
    )
    for words in ((), ("-W", "error")):  # many a suite makes errors of warnings
        pytester.runpytest_inprocess("-p", "no:cacheprovider", *words).assert_outcomes(passed=2)


def _draw_controlled() -> float:
    import random

    import samerun

    with samerun.control():
        return random.random()


TORCH = """
import os, random, torch

def test_draws():
    assert torch.randn(3).shape == (3,)

def test_trains():
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(2):
        loss = model(torch.rand(8, 4)).square().mean()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
"""


@pytest.mark.slow
def test_a_draw_of_torch_is_named_with_its_line_and_a_training_that_repeats_is_the_same(pytester) -> None:
    done = run(pytester, TORCH, "--samerun")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["not repeatable: test_it.py::test_draws: torch-cpu: *(test_it.py:4)"])


OTHERS = """
import os, random, secrets
import pytest

def test_prints():
    print("accuracy", 0.5 + secrets.randbelow(10**6) / 10**7)

def test_leaves():
    os._exit(0)

def test_message():
    assert secrets.randbelow(10**9) == -1

@pytest.mark.parametrize("x", [1], ids=[str(os.getpid())])
def test_other_name(x): ...

@pytest.mark.xfail(reason="known")
def test_expected():
    assert False
"""


@pytest.mark.slow
def test_what_is_printed_said_or_not_found_again(pytester) -> None:
    done = run(pytester, OTHERS, "--samerun")
    done.assert_outcomes(failed=4, xfailed=1)
    said = done.stdout.str()
    assert "not repeatable: test_it.py::test_prints: run 1 prints 'accuracy 0.5" in said
    assert "unknown: test_it.py::test_leaves: no fresh process ran it" in said
    assert "not repeatable: test_it.py::test_message: failed with another message in run 2" in said
    assert re.search(r"^unknown: test_it\.py::test_other_name\[\d+\]: no fresh process ran it", said, re.M)
