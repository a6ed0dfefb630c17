"""What samerun measures of itself is not taken for a read of the user's."""

from __future__ import annotations

from typing import Any

import pytest
from trainer import Trainer


@pytest.mark.everyday(1)
@pytest.mark.parametrize("plan", [{"lines": True}, {"tier": "ops"}])
def test_the_time_that_samerun_takes_of_itself_is_no_read_of_the_users(
    trainer: Trainer, plan: dict[str, Any]
) -> None:
    trainer.script("""
        import time, torch
        began = time.monotonic()
        model = torch.nn.Linear(2, 1)
        for step in range(3):
            model(torch.ones(1, 2)).sum().backward()
            model.zero_grad()
    """)
    rows = trainer.rows(trainer.record("train.py", **plan), "clock")
    assert [(row.name, row.call_site) for row in rows] == [("time.monotonic", "train.py:3")]
