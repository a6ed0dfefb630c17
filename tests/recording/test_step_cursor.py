"""Where a training is, as each of its threads sees it."""

from __future__ import annotations

import threading

import pytest
import torch

from samerun.recording.step_cursor import StepCursor


@pytest.mark.parametrize(
    ("phase", "grad", "inside", "expected"),
    [
        ("forward", True, False, (3, "forward")),
        ("forward", False, True, (3, "forward")),
        ("forward", False, False, (2, "evaluation")),
        ("optimizer", False, False, (3, "optimizer")),
        ("end", True, False, (2, "end")),
    ],
)
def test_evaluation_belongs_to_the_step_before(
    phase: str, grad: bool, inside: bool, expected: tuple[int, str]
) -> None:
    cursor = StepCursor()
    cursor.step, cursor.phase, cursor.local.inside = 3, phase, inside
    with torch.set_grad_enabled(grad):
        assert cursor.where() == expected
    cursor.step = 0
    assert cursor.where()[0] == 0


def test_a_loss_that_is_being_made_is_no_evaluation() -> None:
    cursor = StepCursor()
    cursor.phase, cursor.began = "forward", True
    with torch.no_grad():
        assert cursor.where() == (0, "forward")


def test_a_thread_beside_has_a_phase_of_its_own_until_it_trains() -> None:
    cursor, seen = StepCursor(), []

    def beside() -> None:
        seen.append(cursor.phase)
        cursor.phase = "data"
        seen.append(cursor.phase)
        cursor.trains()
        seen.append(cursor.phase)

    thread = threading.Thread(target=beside)
    thread.start()
    thread.join()
    assert seen == ["evaluation", "data", "setup"]
    assert cursor.phase == "setup"
