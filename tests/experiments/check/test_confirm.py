"""Which runs prove a cause, where it was seen and where it was not."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from samerun.comparing.comparison import Comparison, Scope
from samerun.experiments.check.confirm import Proof, explain_and_confirm
from samerun.explaining.explained import Explained
from samerun.runs.difference import Difference, Evidence, Strength
from samerun.runs.plan import Plan

HERE = Difference(step=0, phase="setup", what="operation", name="aten.lift_fresh", call_site="train.py:9")
SAME = Comparison("same", Scope(("a", "b")))
STILL = Comparison("differs", Scope(("a", "b")), difference=HERE)


class Repeated:
    """A recorded run that others go on as, or do not; keeps how many were asked for."""

    def __init__(self, name: str, agrees: bool, made: list[tuple[str, int]]) -> None:
        self._name, self._agrees, self._made = name, agrees, made
        self.plan = Plan()

    def can_give(self, sources: Sequence[str]) -> bool:
        return True

    def repeat(self, trials: Any, stage: str, sources: Any, count: int, *, setup: bool = True) -> Comparison:
        self._made.append((self._name, count))
        return SAME if self._agrees else STILL


@pytest.mark.parametrize(
    ("strength", "first", "second", "confirmed", "made"),
    [
        (Strength.SEEN, True, False, True, [("A", 1)]),  # it was seen: one run is proof
        (Strength.PLAUSIBLE, True, True, True, [("A", 1), ("B", 1)]),
        (Strength.PLAUSIBLE, True, False, False, [("A", 1), ("B", 1)]),  # as A by luck: it is rare
        (Strength.PLAUSIBLE, False, True, False, [("A", 1)]),
    ],
)
def test_what_was_not_seen_must_give_both_runs_back(
    strength: Strength, first: bool, second: bool, confirmed: bool, made: list[tuple[str, int]]
) -> None:
    done: list[tuple[str, int]] = []
    a, b = Repeated("A", first, done), Repeated("B", second, done)
    trials = SimpleNamespace(
        recorded={}, compare=lambda *args, **kwargs: pytest.fail("nothing is controlled")
    )
    explained = Explained(HERE)
    found = Evidence("hash-seed", strength, "a set is gone through", "train.py:8")
    explained.__dict__["_answers"] = SimpleNamespace(evidence=(found,), notes=())
    proof = Proof(cast(Any, trials), Plan(), (), cast(Any, a), second=cast(Any, b))
    findings = explain_and_confirm(explained, proof)
    assert any(cause.confirmed for cause in findings.causes) is confirmed
    assert done == made
