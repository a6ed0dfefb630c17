"""What a verdict rests on, in one phrase."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from samerun.comparing.comparison import Comparison, Scope
from samerun.experiments.scope import count_steps, describe_scope


def compared(steps: int, ranks: int, counts: Mapping[str, int]) -> Comparison:
    return Comparison("same", scope=Scope(("a", "b"), steps=steps, ranks=ranks, counts=dict(counts)))


@pytest.mark.parametrize(
    ("comparisons", "expected"),
    [
        ([(3, 1, {"batch": 3, "loss": 3})], "2 runs, 3 steps, 1 rank: every batch and loss"),
        (
            [(3, 2, {"batch": 3, "loss": 3}), (1, 2, {"batch": 3})],
            "3 runs, 1 step, 2 ranks: every batch",
        ),
        ([(0, 1, {"batch": 2, "saved": 1})], "2 runs, 0 steps, 1 rank; 2 batches and 1 saved file compared"),
        ([(0, 1, {})], "2 runs, 0 steps, 1 rank"),
    ],
)
def test_only_what_all_comparisons_have(
    comparisons: list[tuple[int, int, dict[str, int]]], expected: str
) -> None:
    made = [compared(*item) for item in comparisons]
    assert describe_scope(made) == expected
    assert count_steps(made) == min(item[0] for item in comparisons)


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (None, "every loss and operation"),
        ((-1, 0), "every loss, and every operation of the first step"),
        ((4, 5), "every loss, and every operation of steps 4 to 5"),
        ((5, 5), "every loss, and every operation of step 5"),
    ],
)
def test_operations_of_some_steps_are_not_said_to_be_all(
    window: tuple[int, int] | None, expected: str
) -> None:
    scope = Scope(("a", "b"), 9, 1, {"loss": 9, "operation": 70}, "ops", window)
    assert describe_scope([Comparison("same", scope=scope)]) == f"2 runs, 9 steps, 1 rank: {expected}"
