"""The steps after which more is written."""

from __future__ import annotations

from samerun.recording.trace.sampled_steps import is_sampled


def test_all_of_the_first_then_two_in_each_doubling() -> None:
    assert [step for step in range(130) if is_sampled(step)] == [*range(9), 11, 16, 22, 32, 45, 64, 90, 128]
