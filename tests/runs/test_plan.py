"""The plan in an environment variable is the plan that was put there."""

from __future__ import annotations

import pytest

from samerun.runs.plan import Control, Plan, Probe

PLANS = {
    "bare": Plan("/runs/1"),
    "whole": Plan(
        "/runs/1",
        tier="ops",
        window=(-1, 3),
        stop_after=3,
        control=Control("warn", 7, ("clock",), ("process-id",), "nan", True),
        values=True,
        probe=Probe(1, "aten.mm.default", "forward", "net", "train.py:3", 2),
        clock="",
        root="/copy",
        vary={"threads": 2},
    ),
    "every source": Plan("/runs/1", control=Control()),
}


@pytest.mark.parametrize("name", PLANS)
def test_what_is_read_is_what_was_written(name: str) -> None:
    text = PLANS[name].to_json()
    assert "\n" not in text
    assert Plan.from_json(text) == PLANS[name]
