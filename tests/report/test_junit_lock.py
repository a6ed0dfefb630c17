"""What lock and verify found as JUnit XML: only the locked bits, or results within bounds, pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from junitparser import Error, Failure, JUnitXml, TestCase, TestSuite

from samerun.experiments.check.result import CheckResult
from samerun.experiments.lock.moved import Moved
from samerun.experiments.lock.result import LockResult
from samerun.experiments.lookup import Lookup
from samerun.experiments.verify.changed import Changed
from samerun.experiments.verify.result import Distance, VerifyResult
from samerun.report.junit_lock import write_lock_junit, write_verify_junit
from samerun.runs.store import Store

from .results import DIFFERS, SAME, UNKNOWN

FOUND = VerifyResult("same", "samerun.lock", command=("python", "train.py"), steps=3, quantities=("loss",))


def read(path: Path) -> tuple[TestSuite, TestCase]:
    (suite,) = JUnitXml.fromstring(path.read_bytes())
    assert isinstance(suite, TestSuite)
    (case,) = suite
    return suite, case


@pytest.mark.parametrize(
    "changed, expected",
    [
        ({}, None),
        ({"verdict": "within", "distances": (Distance("loss", 1e-7, 1e-6),)}, None),
        ({"verdict": "within", "distances": (Distance("loss", 1e-7, 1e-6),), "exact": True}, Failure),
        ({"verdict": "differs", "moved": (Moved("loss", 4, exact=True),)}, Failure),
        ({"verdict": "unknown", "reason": "the command failed"}, Error),
        ({"verdict": "stale", "reason": "the command is not the locked one"}, Error),
    ],
)
def test_only_locked_bits_and_asked_for_bounds_pass(
    changed: dict[str, object], expected: type | None, tmp_path: Path
) -> None:
    write_verify_junit(replace(FOUND, **changed), None, str(tmp_path / "junit.xml"))
    suite, case = read(tmp_path / "junit.xml")
    assert [type(item) for item in case.result] == ([] if expected is None else [expected])
    assert case.name == "python train.py: the bits are those of samerun.lock"
    assert suite.failures == (expected is Failure) and suite.errors == (expected is Error)


def test_a_failure_names_the_first_step_and_what_changed(tmp_path: Path) -> None:
    changed = (Changed("code", "train.py", "train.py changed", "train.py:7"),)
    found = replace(FOUND, verdict="differs", moved=(Moved("loss", 4, exact=True),), changed=changed)
    write_verify_junit(found, None, str(tmp_path / "junit.xml"))
    suite, case = read(tmp_path / "junit.xml")
    (failure,) = case.result
    assert failure.message == "✗ differs — loss, first in step 4"
    assert "train.py:7" in (failure.text or "")
    assert {item.name: item.value for item in suite.properties()}["changed 1"] == (
        "code: train.py:7: train.py changed"
    )


def test_nothing_that_was_not_run_is_called_the_same_bits(tmp_path: Path) -> None:
    found = replace(FOUND, verdict="same", counted={"files": 1}, steps=0)
    write_verify_junit(found, None, str(tmp_path / "junit.xml"))
    assert (
        read(tmp_path / "junit.xml")[1].name
        == "python train.py: files, packages and variables are those of samerun.lock"
    )


@pytest.mark.parametrize("check, expected", [(DIFFERS, Failure), (UNKNOWN, Error), (SAME, Error)])
def test_where_no_lock_was_written_nothing_passes(check: CheckResult, expected: type, tmp_path: Path) -> None:
    write_lock_junit(
        LockResult(check, "samerun.lock"), Lookup(Store(tmp_path / "none")), str(tmp_path / "junit.xml")
    )
    _, case = read(tmp_path / "junit.xml")
    assert [type(item) for item in case.result] == [expected] and case.result[0].message
