"""A loss may be a module or a function: the same numbers come out."""

from __future__ import annotations

import pytest

from samerun.comparing.compare_runs import compare_all
from samerun.runs.schema import A_LOSS

from ..build import Builder, Record, d, find, flip, record, training


def with_loss(detail: str | None = A_LOSS, labels: str = "labels") -> list[Record]:
    rows = training()
    at = find(rows, "loss")
    rows[at:at] = [
        record(0, "data", "input", "MSELoss"),
        record(0, "data", "input", "MSELoss(…)", digest=d(labels)),
        record(0, "forward", "output", "MSELoss", detail=detail),
    ]
    return rows


@pytest.mark.parametrize(("detail", "verdict"), [(A_LOSS, "same"), (None, "differs")])
def test_one_that_only_one_run_calls_as_a_module_is_no_difference(
    build: Builder, detail: str | None, verdict: str
) -> None:
    """Without the detail it is a model: `F.cross_entropy` became a module, and no bit moved."""
    for runs in ((training(), with_loss(detail)), (with_loss(detail), training())):
        assert compare_all([build(rows) for rows in runs])[0].verdict == verdict


def test_a_run_that_does_not_say_that_it_is_a_loss_is_compared_with_one_that_does(build: Builder) -> None:
    """Older runs do not."""
    for runs in ((with_loss(None), with_loss()), (with_loss(), with_loss(None))):
        assert compare_all([build(rows) for rows in runs])[0].verdict == "same"


def test_one_bit_of_the_training_beside_it_is_a_difference(build: Builder) -> None:
    other = with_loss()
    flip(other[find(other, "loss")])
    (found,) = compare_all([build(training()), build(other)])
    assert found.difference is not None and found.difference.what == "loss"


def test_what_goes_into_one_that_both_runs_call_is_compared(build: Builder) -> None:
    (found,) = compare_all([build(with_loss()), build(with_loss(labels="others"))])
    assert found.difference is not None and found.difference.name == "MSELoss(…)"
