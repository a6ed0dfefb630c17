"""The verdict as JUnit XML, also `junit_suite.py`: read as CI systems do, by the rules of Ant's schema."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as xml

import pytest
from junitparser import Error, Failure, JUnitXml, TestCase, TestSuite

from samerun.errors import UsageError
from samerun.experiments.check.result import CheckResult
from samerun.experiments.diagnose.result import Diagnosis
from samerun.experiments.lookup import Lookup
from samerun.report.junit import render, write
from samerun.runs.store import Store

from .diagnoses import HOSTILE, a_case
from .results import DIFFERS, OPERATION, SAME, UNKNOWN

THREE = replace(DIFFERS, verdicts=("same", "differs"))


def rendered(result: CheckResult, folder: Path) -> str:
    return render(Diagnosis(result), Lookup(Store(folder / "none")))


def read(text: str) -> TestSuite:
    (suite,) = JUnitXml.fromstring(text.encode())
    assert isinstance(suite, TestSuite)
    return suite


def outcomes(suite: TestSuite) -> list[str]:
    return [type(case.result[0]).__name__ if case.result else "passed" for case in suite]


@pytest.mark.parametrize(
    "result, expected",
    [
        (SAME, ["passed"]),
        (replace(SAME, runs=("a", "b", "c"), verdicts=("same", "same")), ["passed", "passed"]),
        (THREE, ["passed", "Failure"]),
        (replace(THREE, verdicts=("unknown", "differs")), ["Error", "Failure"]),
        (DIFFERS, ["Failure"]),
        (OPERATION, ["Failure"]),
        (UNKNOWN, ["Error"]),
        (replace(UNKNOWN, verdicts=("same",)), ["Error"]),
        (replace(UNKNOWN, runs=("a", "b", "c"), verdicts=("same", "differs")), ["Error", "Error"]),
        (replace(THREE, verdicts=("same", "same")), ["Failure"]),
        (replace(THREE, verdicts=("same",)), ["Failure"]),
    ],
)
def test_only_what_is_the_same_passes(result: CheckResult, expected: list[str], tmp_path: Path) -> None:
    suite = read(rendered(result, tmp_path))
    assert outcomes(suite) == expected
    assert suite.tests == len(expected)
    assert (suite.failures, suite.errors) == (expected.count("Failure"), expected.count("Error"))


def test_the_message_is_the_first_difference_and_its_causes(tmp_path: Path) -> None:
    _, case = read(rendered(THREE, tmp_path))
    (failure,) = case.result
    assert isinstance(failure, Failure)
    assert failure.message == (
        "the runs diverge at step 7, in data (train.py:4); cause: python-random (confirmed)"
    )
    assert "random.seed(0)" in (failure.text or "")
    assert case.name == "python train.py --name 'two words': run 1 and run 3 give the same bits"


def test_an_unknown_verdict_says_why(tmp_path: Path) -> None:
    (case,) = read(rendered(UNKNOWN, tmp_path))
    (error,) = case.result
    assert isinstance(error, Error)
    assert "the command failed in every run" in error.message


def test_times_and_the_time_stamp_are_those_of_the_runs(tmp_path: Path) -> None:
    case = a_case(tmp_path / "x")
    suite = read(render(case.diagnosis, case.lookup))
    assert suite.timestamp == "2026-11-20T00:00:00"
    (only,) = suite
    assert isinstance(only, TestCase)
    assert only.time == 3.0  # seconds, of both


@pytest.mark.parametrize("brings", ["", HOSTILE, "\ufffe\uffff\U0001fffe\x85\x0b \ud800"])
def test_it_keeps_to_the_strictest_schema_whatever_a_run_brings(brings: str, tmp_path: Path) -> None:
    case = a_case(tmp_path / "x", "" if "\ud800" in brings else brings)
    check = replace(case.diagnosis.check, command=("python", brings), reason=brings, notes=(brings,))
    for verdict in ("same", "differs", "unknown"):
        diagnosis = replace(case.diagnosis, check=replace(check, verdict=verdict))
        text = render(diagnosis, case.lookup)
        root = xml.fromstring(text.encode())  # well-formed: no character that XML forbids
        assert re.search("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text) is None
        keeps_to_ants_schema(root)


def keeps_to_ants_schema(root: xml.Element) -> None:
    """The rules of Ant's JUnit schema, checked one by one."""
    assert root.tag == "testsuites" and not root.attrib
    for suite in root:
        wanted = "errors failures hostname id name package skipped tests time timestamp"
        assert " ".join(sorted(suite.attrib)) == wanted
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp", ""))
        tags = [element.tag for element in suite]
        cases = [element for element in suite if element.tag == "testcase"]
        assert tags == ["properties", *["testcase"] * len(cases), "system-out", "system-err"]
        for element in (suite, *cases):
            for name in ("name", "classname", "hostname"):
                value = element.get(name, "x")
                assert value and value == " ".join(value.split())
            assert re.fullmatch(r"\d+\.\d+", element.get("time", ""))
        for case in cases:
            assert set(case.attrib) == {"classname", "name", "time"}
            assert [(why.tag in ("failure", "error"), set(why.attrib)) for why in case] in (
                [],
                [(True, {"message", "type"})],
            )
        for item in suite[0]:
            assert item.tag == "property" and set(item.attrib) == {"name", "value"}


def test_it_is_written_to_a_file(tmp_path: Path) -> None:
    write(Diagnosis(SAME), Lookup(Store(tmp_path / "none")), str(tmp_path / "x.xml"))
    assert read((tmp_path / "x.xml").read_text()).tests == 1
    with pytest.raises(UsageError, match="--junit"):
        write(Diagnosis(SAME), Lookup(Store(tmp_path / "none")), str(tmp_path / "no" / "x.xml"))
