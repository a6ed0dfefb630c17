"""What its user ignores is in no comparison; all that stands beside it is."""

from __future__ import annotations

import pytest

from comparing.build import Builder, find, flip, operation, training
from samerun.comparing.compare_runs import compare, compare_whole
from samerun.comparing.pairing import read
from samerun.runs.ignored import IgnoredNames, LeftOut


@pytest.fixture
def build(tmp_path):
    return Builder(tmp_path)


def flip_last_parameter(rows):
    flip(rows[find(rows, "parameters", 1, "optimizer")])  # of the last tensor, which is fc.weight


def flip_first_parameter(rows):
    row = rows[find(rows, "parameters", 1, "optimizer")]
    row["parts"] = bytes([row["parts"][0] ^ 1]) + row["parts"][1:]
    row["digest"] = bytes(16)


def compared(build, change, *names, other=None):
    ignored = IgnoredNames(tuple((name, "known") for name in names))
    runs = build(training(), change=other), build(training(), change=change)
    return compare(*(run.ignoring(ignored) for run in runs))


def test_a_parameter_that_is_ignored_is_no_difference_and_is_named(build) -> None:
    assert compared(build, flip_last_parameter).difference.name == "fc.weight"
    found = compared(build, flip_last_parameter, "fc.weight")
    assert found.verdict == "same"
    assert LeftOut("parameters", "fc.weight", "known") in found.left_out
    assert {item.name for item in found.left_out} == {"fc.weight"}


@pytest.mark.parametrize("name", ["fc.*", "parameters fc.weight", "parameters fc.*", "?c.weight"])
def test_names_are_patterns_with_or_without_the_kind(build, name: str) -> None:
    assert compared(build, flip_last_parameter, name).verdict == "same"


@pytest.mark.parametrize("name", ["gradients fc.weight", "weight", "FC.weight", "conv.*"])
def test_another_name_or_kind_leaves_nothing_of_it_out(build, name: str) -> None:
    assert compared(build, flip_last_parameter, name).difference.name == "fc.weight"


def test_one_bit_beside_what_is_ignored_differs(build) -> None:
    def both(rows):
        flip_last_parameter(rows)
        flip_first_parameter(rows)

    found = compared(build, both, "fc.weight")
    assert found.verdict == "differs" and found.difference.name == "conv.weight"
    assert not any("tensors of" in note for note in found.notes)


def test_a_record_is_ignored_by_its_own_name(build) -> None:
    def change(rows):
        flip(rows[find(rows, "saved", 1)])

    assert compared(build, change).difference.what == "saved"
    assert compared(build, change, "*.pt").verdict == "same"


def test_an_operation_is_ignored_by_its_name_and_the_next_one_is_found(build) -> None:
    def run(out: str):
        rows = training(1)
        at = find(rows, "loss")
        rows[at:at] = [operation(0, "aten.bernoulli_", out), operation(0, "aten.mul", out)]
        plan = {"tier": "ops", "window": None}
        return build(rows, plan=plan, tier="ops").ignoring(IgnoredNames((("aten.bernoulli_", "known"),)))

    assert compare(run("a"), run("b")).difference.name == "aten.mul"
    assert compare(run("a"), run("a")).verdict == "same"


def test_what_is_ignored_whole_does_not_count_as_compared(build) -> None:
    found = compared(build, flip_last_parameter, "fc.weight", "conv.*")
    assert found.verdict == "same" and found.scope.counts["batch"] == 3
    assert found.scope.counts["parameters"] == 1  # those of the setup have no names here
    assert "gradients" not in found.scope.counts
    assert compared(build, None, "*").verdict == "unknown"


def test_how_a_run_ended_is_never_ignored(build) -> None:
    ignored = IgnoredNames((("raised", "known"), ("end *", "known"), ("finished", "known")))
    runs = build(training()), build(training(how="raised"))
    assert compare(*(run.ignoring(ignored) for run in runs)).difference.what == "end"


def test_nothing_is_ignored_unless_it_was_asked_for(build) -> None:
    run = build(training())
    assert read(run).left_out == ()
    assert compare_whole([run, run])[0].left_out == ()
